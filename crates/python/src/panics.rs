//! A panic of a plug-in: the plug-in is named in the error, by the functions that were running.

use std::backtrace::Backtrace;
use std::panic;
use std::sync::{Mutex, PoisonError};

/// The first panic since the last run.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

/// Notes panics in functions of these crates. Other panics are reported as before.
pub fn watch(crates: Vec<&'static str>) {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        let running = Backtrace::force_capture().to_string();
        let Some((name, function)) = function_of(&running, &crates) else { return usual(info) };
        let payload = info.payload();
        let said = payload.downcast_ref::<&str>().copied();
        let said =
            said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
        let at = info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
        FIRST
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert_with(|| format!("plug-in `{name}` panicked in {function}: {said}{at}"));
    }));
}

/// Returns the crate and the innermost function of one of the crates, from a backtrace.
fn function_of(running: &str, crates: &[&'static str]) -> Option<(&'static str, String)> {
    running.lines().find_map(|line| {
        let function = line.trim_start().split_once(": ").map_or(line, |(_, function)| function);
        let plain = function.trim_start_matches('<');
        let name = crates
            .iter()
            .find(|name| plain.strip_prefix(**name).is_some_and(|rest| rest.starts_with("::")))?;
        Some((*name, function.to_string()))
    })
}

/// Returns the message of the first noted panic, and forgets the panic.
pub fn take() -> Option<String> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}
