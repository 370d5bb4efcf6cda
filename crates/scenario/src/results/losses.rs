//! Dropped packets, and the first shortage of headroom.

use xoff_engine::Checkpoint;
use xoff_models::mechanisms::overrides::Locals;
use xoff_models::network::node::Node;
use xoff_models::parts::ids::ClassSet;
use xoff_models::paths::symmetry::View;
use xoff_models::records::events::Drop;
use xoff_models::records::table::{Column, Data};
use xoff_units::{Duration, index};

use super::contract::{Collect, Shared};
use super::names::Names;
use super::rows::{Row, row_set, times};
use crate::runner::Runner;
use crate::summary::Summary;
use crate::verdicts::{LackOfRoom, Ledger};

row_set! { drops: Drop }

/// Collects drops.
pub struct Losses {
    rows: Rows,
    shortage: Shortage,
    packets: u64,
}

impl Collect for Losses {
    type Rows = Rows;

    fn new(runner: &Runner, _: &Shared) -> Self {
        Self { rows: Rows::default(), shortage: Shortage::new(&runner.settings.locals), packets: 0 }
    }

    fn rows(&mut self) -> &mut Rows {
        &mut self.rows
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let unfold = shared.unfold.clone();
        let (map, sources) = (cp.node(0).core.routing.clone(), &shared.plan.sources);
        let image = |view: &View, rows: &[Drop]| unfold.drops(view, rows, &map, sources);
        let mut drops = unfold.take(cp, |node| std::mem::take(&mut node.records.drops), Some(&image));
        // Rows between two checkpoints are in node order.
        drops.sort_by_key(|drop| drop.at);
        for drop in &drops {
            self.shortage.note(drop);
        }
        shared.news.drops.extend(&drops);
        self.rows.drops.append(&mut drops);
    }

    fn judge(&self, cp: &Checkpoint<'_, Node>, shared: &Shared, ledger: &mut Ledger) {
        ledger.shortage = self.shortage.first.map(|(drop, bytes)| {
            let spec = &shared.names.ports[index(drop.node)][drop.in_port];
            let view = &shared.unfold.views()[index(spec.peer)];
            let sender = cp.node(view.of).pause_frames(shared.unfold.port(view, spec.peer_port), drop.class);
            LackOfRoom { first: drop, bytes, packets: self.shortage.drops, ignored: sender.ignored }
        });
    }

    fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
        let dropped: u64 = shared.unfold.simulated().map(|id| cp.node(id).counts.dropped).sum();
        self.packets = dropped * u64::from(shared.unfold.times());
    }

    fn summarize(&mut self, _: &mut Shared, summary: &mut Summary) {
        summary.drops = self.packets;
    }
}

/// Drops at one port and class within this time count as one shortage of headroom.
const BURST: Duration = Duration::us(20);

/// The lossless classes of ingress ports.
pub struct Lossless {
    /// Settings of all ports, with the lossless classes of each.
    locals: Locals,
    classes: Vec<ClassSet>,
}

impl Lossless {
    pub fn new(locals: &Locals) -> Self {
        let classes = locals.list().iter().map(|local| local.mechanisms.lossless()).collect();
        Self { locals: locals.clone(), classes }
    }

    /// True if a dropped packet came in a lossless class.
    pub fn has(&self, drop: &Drop) -> bool {
        self.classes[self.locals.place(index(drop.node), drop.in_port)].has(drop.class)
    }
}

/// Drops for lack of room in lossless classes.
struct Shortage {
    lossless: Lossless,
    /// The first drop, and the wire bytes dropped at the same port and class within [`BURST`].
    first: Option<(Drop, u64)>,
    drops: u64,
}

impl Shortage {
    fn new(locals: &Locals) -> Self {
        Self { lossless: Lossless::new(locals), first: None, drops: 0 }
    }

    fn note(&mut self, d: &Drop) {
        // A drop by a mechanism is no lack of room.
        if d.by.is_some() || !self.lossless.has(d) {
            return;
        }
        self.drops += 1;
        let (first, bytes) = self.first.get_or_insert((*d, 0));
        if (d.node, d.in_port, d.class) == (first.node, first.in_port, first.class)
            && d.at <= first.at + BURST
        {
            *bytes += u64::from(d.bytes);
        }
    }
}

impl Row for Drop {
    const TABLE: &'static str = "drops";
    const ABOUT: &'static str = "One row per dropped data packet.";

    fn columns(d: &[Self], names: &Names) -> Vec<Column> {
        let reasons = Data::Static(d.iter().map(|d| d.by.unwrap_or("buffer full")).collect());
        vec![
            Column { name: "time_ps", meaning: "Time of the drop.", data: times(d.iter().map(|d| d.at)) },
            Column {
                name: "node",
                meaning: "Node that dropped the packet.",
                data: names.node(d.iter().map(|d| d.node)),
            },
            Column {
                name: "port",
                meaning: "Egress port of the packet.",
                data: Data::U16(d.iter().map(|d| d.port.0).collect()),
            },
            Column {
                name: "in_port",
                meaning: "Ingress port of the packet.",
                data: Data::U16(d.iter().map(|d| d.in_port.0).collect()),
            },
            Column {
                name: "class",
                meaning: "Class of the packet.",
                data: Data::U8(d.iter().map(|d| d.class).collect()),
            },
            Column {
                name: "flow",
                meaning: "Flow of the packet.",
                data: Data::U32(d.iter().map(|d| d.flow).collect()),
            },
            Column {
                name: "seq",
                meaning: "Number of the packet in the flow.",
                data: Data::U32(d.iter().map(|d| d.seq).collect()),
            },
            Column {
                name: "reason",
                meaning: "Reason: `buffer full`, `fault`, `PFC watchdog`, `RED`, or the name of the mechanism that dropped the packet.",
                data: reasons,
            },
        ]
    }
}
