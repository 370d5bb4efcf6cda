//! Calls from Python to long work: Python receives progress and rows, and an exception of Python stops the
//! work.
//!
//! The work runs on its own thread. The calling thread takes reports of the work, and checks for interrupts
//! ten times a second, also while the work reports nothing, as during the building of a network. Work without
//! a caller ends at its next report, or with the process.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration as WallTime;

use pyo3::prelude::*;
use xoff_scenario::{Observer, Progress, Table};

#[cfg(unix)]
use crate::CallError;
#[cfg(unix)]
use crate::controls::{Failure, Reason};
use crate::{PluginError, broken, panics, stream};

/// Maximum delay of an interrupt.
const PATIENCE: WallTime = WallTime::from_millis(100);
/// As the first thread of a process usually has.
const STACK: usize = 8 << 20;

/// Python functions to call.
#[derive(Default)]
pub struct Caller {
    /// With how far a run is, as JSON. A true answer ends the run early.
    pub progress: Option<Py<PyAny>>,
    /// With the name and rows of a table; with `None` twice if the run begins again and all rows so far are void.
    pub sink: Option<Py<PyAny>>,
    /// True if nobody reads the rows of flows and jobs.
    pub is_without_rows: bool,
    /// Called ten times a second while no other call is made.
    pub poll: Option<Py<PyAny>>,
}

/// A report of the work.
enum Said {
    Progress(Progress),
    Rows(Table),
    Again,
}

/// The end of the channel at the work.
struct Remote {
    said: SyncSender<Said>,
    /// True to go on.
    answers: Receiver<bool>,
    takes_rows: bool,
    wants_rows: bool,
}

impl Remote {
    /// Sends a report and waits for the answer; the caller may be gone.
    fn say(&self, said: Said) -> ControlFlow<()> {
        let goes_on = self.said.send(said).is_ok() && self.answers.recv() == Ok(true);
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Observer for Remote {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.say(Said::Progress(progress))
    }

    fn takes_rows(&self) -> bool {
        self.takes_rows
    }

    fn wants_rows(&self) -> bool {
        self.wants_rows
    }

    fn rows(&mut self, table: Table) {
        // Without a caller, the next report ends the run.
        let _ = self.say(Said::Rows(table));
    }

    fn begin_again(&mut self) {
        let _ = self.say(Said::Again);
    }
}

/// Returns the exception on a failed call of a congestion control in Python. Any other panic goes on.
#[cfg(unix)]
fn failed_call(panic: Box<dyn Any + Send>) -> PyErr {
    match panic.downcast::<Failure>() {
        Ok(failure) => {
            let Failure { number, method, reason } = *failure;
            let why = match reason {
                Reason::Wrong(why) => why,
                Reason::Late => "late".into(),
                Reason::Ended => "ended".into(),
            };
            CallError::new_err((number, method, why))
        }
        Err(panic) => std::panic::resume_unwind(panic),
    }
}

/// Lets a panic go on.
#[cfg(not(unix))]
fn failed_call(panic: Box<dyn Any + Send>) -> PyErr {
    std::panic::resume_unwind(panic)
}

impl Caller {
    /// Does some work, and returns its result or an exception raised by Python meanwhile.
    pub fn wait_for<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut dyn Observer) -> T + Send + 'static,
    ) -> PyResult<T> {
        let (said, mut hears) = sync_channel(0);
        let (answer, answers) = sync_channel(1);
        let (takes_rows, wants_rows) = (self.sink.is_some(), !self.is_without_rows);
        let mut remote = Remote { said, answers, takes_rows, wants_rows };
        let inside = move || {
            let _call = panics::Call::begin();
            work(&mut remote)
        };
        let worker = thread::Builder::new().stack_size(STACK).spawn(inside).map_err(broken)?;
        loop {
            // The channel is moved and returned, as only one thread may own the channel.
            let heard;
            (hears, heard) = py.detach(move || {
                let heard = hears.recv_timeout(PATIENCE);
                (hears, heard)
            });
            match heard {
                Ok(said) => {
                    py.check_signals()?;
                    let goes_on = self.take(py, said)?;
                    // The work may have ended.
                    let _ = answer.send(goes_on);
                }
                Err(RecvTimeoutError::Timeout) => {
                    py.check_signals()?;
                    if let Some(poll) = &self.poll {
                        poll.call0(py)?;
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        py.detach(|| worker.join()).map_err(|panic| match panics::take() {
            Some(message) => PluginError::new_err(message),
            None => failed_call(panic),
        })
    }

    /// Takes a report. Returns true if the work goes on.
    fn take(&self, py: Python<'_>, said: Said) -> PyResult<bool> {
        match (said, &self.progress, &self.sink) {
            (Said::Progress(progress), Some(call), _) => {
                let text = serde_json::to_string(&progress).map_err(broken)?;
                return Ok(!call.call1(py, (text,))?.is_truthy(py)?);
            }
            (Said::Rows(table), _, Some(call)) => {
                call.call1(py, (table.name, stream(&table)?))?;
            }
            (Said::Again, _, Some(call)) => {
                call.call1(py, (py.None(), py.None()))?;
            }
            _ => {}
        }
        Ok(true)
    }
}
