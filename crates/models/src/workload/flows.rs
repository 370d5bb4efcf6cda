//! Flows that the scenario or a table lists: a trace, a collective, or a case worked out by hand. Source:
//! `docs/models/flows.md`.
//!
//! Dependencies and pinned paths need the flows of all workloads. Both are checked during numbering.

use super::row::place;
use super::{Flow, Making, Problem, Traffic};
use xoff_units::wide;

/// `workload[…].flows`
pub type Params = Vec<Flow>;

impl Traffic for Params {
    fn make<'a>(&'a self, making: &mut Making<'a>) -> Result<(), Problem> {
        let at = making.at();
        making.check_room(wide(self.len()), &at)?;
        for (i, flow) in self.iter().enumerate() {
            let key = place(&at, making.workload.is_table, i);
            let src = making.host(&flow.src, &format!("{key}.src"))?;
            let dst = making.host(&flow.dst, &format!("{key}.dst"))?;
            making.check_ends(src, dst, &key)?;
            making.check_size(flow.size, &key)?;
            making.list(src, dst, flow.size.0, making.workload.start + flow.start).detail = Some((i, flow));
        }
        Ok(())
    }
}
