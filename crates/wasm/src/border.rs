//! The functions that cross the border between WebAssembly and the page. Texts are UTF-8 in the memory of the
//! module.
//!
//! The page writes a text to the place that `reserve` returns, calls `run` (a TOML document) or `table` (the
//! name of a table), and reads the answer, JSON, from the place that `answer` returns. Both functions return
//! the length of the answer. The host gives the module `xoff` with
//!
//! | function | meaning |
//! |---|---|
//! | `now()` | milliseconds since a fixed moment |
//! | `progress(at, length)` | progress of a run, JSON, at most ten times a second |
//! | `failed(at, length)` | the message of a panic; the module is of no further use |
//!
//! No function has an unsafe body. The attributes carry the word, because the linker does not check names.

use std::cell::RefCell;
use std::time::Duration;

use xoff_engine::clock;
use xoff_scenario::{Outcome, Progress};

#[allow(unsafe_code, reason = "a declaration of foreign functions")]
#[link(wasm_import_module = "xoff")]
unsafe extern "C" {
    safe fn now() -> f64;
    safe fn progress(at: *const u8, length: usize);
    safe fn failed(at: *const u8, length: usize);
}

#[derive(Default)]
struct Session {
    request: Vec<u8>,
    answer: Vec<u8>,
    outcome: Option<Outcome>,
}

thread_local! {
    static SESSION: RefCell<Session> = RefCell::default();
}

/// Sends a text to a function of the host.
fn tell(to: impl Fn(*const u8, usize), text: &str) {
    to(text.as_ptr(), text.len());
}

fn report(found: Progress) {
    tell(|at, length| progress(at, length), &serde_json::to_string(&found).unwrap_or_default());
}

/// Answers a request, and returns the length of the answer.
fn reply(work: impl Fn(&mut Session, &str) -> serde_json::Value) -> usize {
    SESSION.with_borrow_mut(|session| {
        let request = std::mem::take(&mut session.request);
        let value = work(session, &String::from_utf8_lossy(&request));
        session.answer = value.to_string().into_bytes();
        session.answer.len()
    })
}

/// Returns the place for a request of `length` bytes.
#[allow(unsafe_code, reason = "exports a name")]
#[unsafe(no_mangle)]
pub extern "C" fn reserve(length: usize) -> *mut u8 {
    SESSION.with_borrow_mut(|session| {
        session.request = vec![0; length];
        session.request.as_mut_ptr()
    })
}

/// Returns the place of the answer to the last request.
#[allow(unsafe_code, reason = "exports a name")]
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    SESSION.with_borrow(|session| session.answer.as_ptr())
}

/// Runs the scenario of the request ([`crate::run`]).
#[allow(unsafe_code, reason = "exports a name")]
#[unsafe(no_mangle)]
pub extern "C" fn run() -> usize {
    clock::set(|| Duration::from_secs_f64(now().max(0.0) / 1000.0));
    std::panic::set_hook(Box::new(|panic| tell(|at, length| failed(at, length), &panic.to_string())));
    reply(|session, text| {
        session.outcome = None;
        let outcome = crate::run(text, report);
        let said = crate::answer(&outcome);
        session.outcome = outcome.ok();
        said
    })
}

/// Returns a table of the last run ([`crate::columns`]).
#[allow(unsafe_code, reason = "exports a name")]
#[unsafe(no_mangle)]
pub extern "C" fn table() -> usize {
    reply(|session, name| {
        session
            .outcome
            .as_ref()
            .map_or_else(|| serde_json::json!({}), |outcome| crate::columns(outcome, name))
    })
}
