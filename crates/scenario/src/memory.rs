//! Memory limit of a run: the run ends with a message before the system would kill the process.

use xoff_document::InputError;
use xoff_units::{Bytes, Moment};

/// Environment variable that sets another limit.
const VARIABLE: &str = "XOFF_MEMORY";
/// Bytes of a kept row of a message or an operation, at least. The rows of 21 million messages took 300 B each.
const LEAST_BYTES_OF_A_ROW: u64 = 200;

/// Memory limit of this process.
pub struct Budget(Option<u64>);

impl Budget {
    /// Returns the limit of `XOFF_MEMORY`, or the present size of the process plus four fifths of free
    /// memory. No limit if the system does not report free memory.
    pub fn new() -> Result<Self, InputError> {
        if let Ok(text) = std::env::var(VARIABLE) {
            let bytes: Bytes = text.parse().map_err(|why| InputError::new(VARIABLE, format!("{why}")))?;
            return Ok(Self(Some(bytes.0)));
        }
        Ok(Self(held().zip(free()).map(|(held, free)| held + free / 5 * 4)))
    }

    /// Returns the size of the process if above the limit.
    pub fn passed(&self) -> Option<u64> {
        let limit = self.0?;
        held().filter(|held| *held > limit)
    }

    /// Refuses a run before it starts if the rows of its messages and operations, all of which stay in memory, need more than
    /// the limit.
    pub fn check_rows(&self, rows: u64) -> Result<(), InputError> {
        let needed = rows.saturating_mul(LEAST_BYTES_OF_A_ROW);
        match self.0 {
            Some(limit) if needed > limit => Err(InputError::new(
                VARIABLE,
                format!(
                    "the rows of {rows} messages and operations would need at least {} MB of memory, and {} MB are allowed (four \
                     fifths of free memory by default; {VARIABLE}=16GB sets another limit); keep the rows in a directory \
                     (`--out`, `out` in Python), or set probe.flows = false",
                    needed / 1_000_000,
                    limit / 1_000_000
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Returns the error of a run that exceeded the limit, with remedies.
    /// `takes_rows`: rows already go to a directory.
    pub fn refusal(&self, held: u64, now: Moment, takes_rows: bool) -> InputError {
        let limit = self.0.unwrap_or(held);
        let rows = if takes_rows {
            ""
        } else {
            ", and rows kept in a directory (`--out`, `out` in Python) need none"
        };
        // The path separates this error from failures of scenarios.
        InputError::new(
            VARIABLE,
            format!(
                "the run was ended at {now} of simulated time: {} MB of memory are in use, and {} MB are allowed (four fifths of \
                 free memory by default; {VARIABLE}=16GB sets another limit); bounded buffers, flow control, fewer hosts \
                 or fewer probes need less{rows}",
                held / 1_000_000,
                limit / 1_000_000
            ),
        )
    }
}

/// A number of kilobytes from a file of the system, in bytes.
fn kilobytes(file: &str, key: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb * 1024)
}

#[cfg(not(target_family = "wasm"))]
fn held() -> Option<u64> {
    kilobytes("/proc/self/status", "VmRSS:")
}

/// Returns the size of the memory of a WebAssembly module.
#[expect(clippy::unnecessary_wraps, reason = "other systems may not report memory")]
#[cfg(target_family = "wasm")]
fn held() -> Option<u64> {
    const PAGE: usize = 1 << 16;
    Some((std::arch::wasm32::memory_size::<0>() * PAGE) as u64)
}

/// Returns the part of the 4 GiB of a WebAssembly module that is not in use.
#[cfg(target_family = "wasm")]
fn free() -> Option<u64> {
    held().map(|held| (4_u64 << 30).saturating_sub(held))
}

/// Returns the free memory of the machine, or of the control group of the process.
#[cfg(not(target_family = "wasm"))]
fn free() -> Option<u64> {
    let number = |file: &str| std::fs::read_to_string(file).ok()?.trim().parse::<u64>().ok();
    let group = number("/sys/fs/cgroup/memory.max").zip(number("/sys/fs/cgroup/memory.current"));
    let machine = kilobytes("/proc/meminfo", "MemAvailable:")?;
    Some(group.map_or(machine, |(most, used)| machine.min(most.saturating_sub(used))))
}

/// The most memory this process ever had, where the system tells.
pub fn peak_rss_bytes() -> u64 {
    if cfg!(target_family = "wasm") { held() } else { kilobytes("/proc/self/status", "VmHWM:") }.unwrap_or(0)
}
