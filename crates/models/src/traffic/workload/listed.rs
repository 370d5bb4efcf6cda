//! A list of flows as a kind of traffic.

use xoff_units::wide;

use super::builder::{Making, Problem};
use super::row::{Flow, place};
use super::traffic::Traffic;

impl Traffic for Vec<Flow> {
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
