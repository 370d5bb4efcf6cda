//! A panic of a plug-in, or a plug-in that ends the process: the plug-in is named in the error, by the functions that were
//! running, or by the hook that ran last.

use std::backtrace::Backtrace;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

use pyo3::PyResult;
use xoff_models::network::plugins::installed;
use xoff_models::parts::plugin_parts::running;

use crate::PluginError;

/// The first panic since the last run.
static FIRST: Mutex<Option<String>> = Mutex::new(None);

thread_local! {
    /// True while this thread runs the core, and so may run code of plug-ins.
    static IS_INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// A call of the core by this thread, until dropped.
pub struct Call(());

impl Call {
    /// Begins a call.
    pub fn begin() -> Self {
        running::forget();
        IS_INSIDE.set(true);
        Self(())
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        running::forget();
        IS_INSIDE.set(false);
    }
}

/// Notes panics of plug-ins, and of the core after it ran a hook of a plug-in. Other panics are reported as before. A
/// plug-in that ends the process aborts it with a message: a script must not take the missing result for a success.
pub fn watch() {
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |info| match blame(info) {
        Some(message) => {
            FIRST.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(message);
        }
        None => usual(info),
    }));
    shutdown_hooks::add_shutdown_hook(at_exit);
}

/// Returns the message that names the plug-in to blame for a panic.
fn blame(info: &PanicHookInfo<'_>) -> Option<String> {
    let payload = info.payload();
    let said = payload.downcast_ref::<&str>().copied();
    let said = said.or_else(|| payload.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message");
    let at = info.location().map_or_else(String::new, |at| format!(" ({}:{})", at.file(), at.line()));
    if let Some((name, function)) = function_of(&Backtrace::force_capture().to_string()) {
        return Some(format!("plug-in `{name}` panicked in {function}: {said}{at}"));
    }
    let hook = last()?;
    Some(format!("{hook} returned or asked for something that the core cannot use: {said}{at}"))
}

/// Returns the plug-in, the part and the hook that ran last on this thread, for a message.
fn last() -> Option<String> {
    let running::Hook { part, name } = running::last()?;
    let plugin = installed().iter().find(|plugin| plugin.names().any(|own| own == part))?;
    Some(format!("plug-in `{}`: `{name}` of the part `{part}`", plugin.name))
}

/// Returns the plug-in and the innermost of its functions, from a backtrace.
fn function_of(running: &str) -> Option<(&'static str, String)> {
    running.lines().find_map(|line| {
        let function = line.trim_start().split_once(": ").map_or(line, |(_, function)| function);
        let plain = function.trim_start_matches('<');
        let is_own = |name: &str| plain.strip_prefix(name).is_some_and(|rest| rest.starts_with("::"));
        let plugin = installed().iter().find(|plugin| is_own(plugin.name))?;
        Some((plugin.name, function.to_string()))
    })
}

/// Aborts if a thread that runs the core ends the process. Threads of the engine have run a hook before.
extern "C" fn at_exit() {
    let last = last();
    if IS_INSIDE.get() || last.is_some() {
        let by = last.unwrap_or_else(|| "a plug-in".into());
        eprintln!("xoff: error: {by} ended the process; the run has no result");
        std::process::abort();
    }
}

/// Returns the message of the first noted panic, and forgets the panic.
pub fn take() -> Option<String> {
    FIRST.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Does some work that may run code of plug-ins; a panic of a plug-in becomes an exception.
pub fn caught<T>(work: impl FnOnce() -> T) -> PyResult<T> {
    let _call = Call::begin();
    panic::catch_unwind(AssertUnwindSafe(work)).map_err(|panic| match take() {
        Some(message) => PluginError::new_err(message),
        None => panic::resume_unwind(panic),
    })
}
