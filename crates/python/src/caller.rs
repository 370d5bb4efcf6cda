//! Whoever waits in Python for something that takes long: progress and rows go there, and what it raises stops the work.
//!
//! The work is done on a thread of its own. The thread that called takes what the work says, and ten times a second looks whether
//! it was interrupted, whatever the work is at: the building of a network says nothing for a long time. Work that nobody waits for
//! any more ends when it next says something, or with the process.

use std::ops::ControlFlow;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration as WallTime;

use pyo3::prelude::*;
use xoff_scenario::{Observer, Progress, Table};

use crate::{broken, stream};

/// How long an interrupt waits at most.
const PATIENCE: WallTime = WallTime::from_millis(100);
/// As the first thread of a process usually has.
const STACK: usize = 8 << 20;

/// What is called in Python.
#[derive(Default)]
pub struct Caller {
    /// With how far a run is, as JSON.
    pub progress: Option<Py<PyAny>>,
    /// With the name and rows of a table.
    pub sink: Option<Py<PyAny>>,
    /// While nothing else is, ten times a second.
    pub poll: Option<Py<PyAny>>,
}

/// What work says.
enum Said {
    Progress(Progress),
    Rows(Table),
}

/// The end of the channel that the work has.
struct Remote {
    said: SyncSender<Said>,
    answers: Receiver<()>,
    takes_rows: bool,
}

impl Remote {
    /// Says something and waits until it has been heard; nobody may be there any more.
    fn say(&self, said: Said) -> ControlFlow<()> {
        let is_heard = self.said.send(said).is_ok() && self.answers.recv().is_ok();
        if is_heard { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}

impl Observer for Remote {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        self.say(Said::Progress(progress))
    }

    fn takes_rows(&self) -> bool {
        self.takes_rows
    }

    fn rows(&mut self, table: Table) {
        // If nobody heard it, the next report ends the run.
        let _ = self.say(Said::Rows(table));
    }
}

impl Caller {
    /// Does some work and returns what it returns, or what Python raised meanwhile.
    pub fn wait_for<T: Send + 'static>(&self, py: Python<'_>, work: impl FnOnce(&mut dyn Observer) -> T + Send + 'static) -> PyResult<T> {
        let (said, mut hears) = sync_channel(0);
        let (answer, answers) = sync_channel(1);
        let mut remote = Remote { said, answers, takes_rows: self.sink.is_some() };
        let worker = thread::Builder::new().stack_size(STACK).spawn(move || work(&mut remote)).map_err(broken)?;
        loop {
            // The channel goes along and comes back: one thread may have it at a time.
            let heard;
            (hears, heard) = py.detach(move || {
                let heard = hears.recv_timeout(PATIENCE);
                (hears, heard)
            });
            match heard {
                Ok(said) => {
                    py.check_signals()?;
                    self.take(py, said)?;
                    // The work may have ended by itself.
                    let _ = answer.send(());
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
        py.detach(|| worker.join()).map_err(|panic| std::panic::resume_unwind(panic))
    }

    fn take(&self, py: Python<'_>, said: Said) -> PyResult<()> {
        match (said, &self.progress, &self.sink) {
            (Said::Progress(progress), Some(call), _) => {
                call.call1(py, (serde_json::to_string(&progress).map_err(broken)?,))?;
            }
            (Said::Rows(table), _, Some(call)) => {
                call.call1(py, (table.name, stream(&table)?))?;
            }
            _ => {}
        }
        Ok(())
    }
}
