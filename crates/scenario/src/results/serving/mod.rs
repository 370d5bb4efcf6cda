//! Serving: requests, steps and tokens.

mod requests;
mod steps;
pub mod summary;
mod tokens;

use xoff_applications::serving::{RequestRow, StepRow, TokenRow};
use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_units::{Moment, wide};

use self::summary::Times;
use super::contract::{Collect, Shared};
use super::rows::row_set;
use crate::runner::Runner;
use crate::summary::Summary;
use crate::verdicts::Ledger;

row_set! { requests: RequestRow, steps: StepRow, tokens: TokenRow }

/// Collects requests, steps and tokens.
pub struct Serving {
    rows: Rows,
    times: Times,
}

impl Collect for Serving {
    type Rows = Rows;

    fn new(_: &Runner, shared: &Shared) -> Self {
        Self { rows: Rows::default(), times: Times::new(&shared.plan) }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        if self.times.is_empty() {
            return;
        }
        let (requests, steps, tokens) = summary::take(cp);
        for row in &requests {
            self.times.add_request(row);
        }
        for row in &steps {
            self.times.add_step(row);
        }
        for row in &tokens {
            self.times.add_token(row);
            shared.ends.add_token(row);
        }
        let last = tokens.last().map_or(Moment::ZERO, |row| row.at);
        shared.ends.end(wide(requests.len()), last);
        if shared.keeps.flows {
            self.rows.requests.extend(requests);
            self.rows.steps.extend(steps);
        }
        if shared.keeps.tokens {
            self.rows.tokens.extend(tokens);
        }
    }

    fn judge(&self, cp: &Checkpoint<'_, Node>, _: &Shared, ledger: &mut Ledger) {
        ledger.serves = !self.times.is_empty();
        ledger.serving = summary::imbalance(cp);
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        for row in summary::censored(cp) {
            self.times.add_censored(&row, cp.now);
            if shared.keeps.flows {
                self.rows.requests.push(row);
            }
        }
    }

    fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
        summary.serving = std::mem::take(&mut self.times).summaries();
    }
}
