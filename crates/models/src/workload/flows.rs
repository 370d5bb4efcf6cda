//! Flows that the document lists, or a table beside it: a trace, a collective, or a case that is worked out by hand.
//!
//! What a flow waits for and the path that it is pinned to need the flows of all workloads: both are checked where flows are
//! numbered.

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
            let key = place(&at, making.workload.table.is_some(), i);
            let src = making.host(&flow.src, &format!("{key}.src"))?;
            let dst = making.host(&flow.dst, &format!("{key}.dst"))?;
            making.check_ends(src, dst, &key)?;
            making.check_size(flow.size, &key)?;
            making.list(src, dst, flow.size.0, making.workload.start + flow.start).detail = Some((i, flow));
        }
        Ok(())
    }
}
