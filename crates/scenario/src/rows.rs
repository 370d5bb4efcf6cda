//! The tables of a result: rows as they are gathered, and the columns made of them.

use std::collections::HashMap;
use std::sync::Arc;

use xoff_models::delays::Contribution;
use xoff_models::effects::{Asker, Because};
use xoff_models::high_water::{Kind, Mark};
use xoff_models::packet::Packet;
use xoff_models::record::{Drop, Pause, Sample, Trace};
use xoff_models::topology::PortSpec;
use xoff_models::workload::Collective;
use xoff_units::Time;

use crate::delays::Row;
use crate::summary::{CollectiveSummary, HighWater};
use crate::table::{Column, Data, Table};

/// What numbers in rows stand for.
pub struct Names {
    /// Of nodes.
    pub nodes: Arc<Vec<String>>,
    /// Of workloads.
    pub workloads: Arc<Vec<String>>,
    /// Ports of each node.
    pub ports: Vec<Vec<PortSpec>>,
}

/// Rows of `flows`.
#[derive(Default)]
pub struct FlowRows {
    pub flow: Vec<u32>,
    pub workload: Vec<u32>,
    pub label: Vec<Option<String>>,
    pub src: Vec<u32>,
    pub dst: Vec<u32>,
    pub size: Vec<u64>,
    pub start: Vec<u64>,
    pub fct: Vec<Option<u64>>,
    pub acked: Vec<Option<u64>>,
    pub ideal: Vec<u64>,
    pub fastest: Vec<u64>,
    pub slowdown: Vec<Option<f64>>,
    pub sent: Vec<u64>,
    pub retransmitted: Vec<u64>,
    pub notifications: Vec<u32>,
    pub holds: Vec<u32>,
    pub paused: Vec<u64>,
    /// The nodes between its ends, by their place in [`Vias`].
    pub via: Vec<u32>,
}

/// The distinct ways of flows, as lists of the nodes between their ends.
#[derive(Default)]
pub struct Vias {
    known: HashMap<Vec<u32>, u32>,
    names: Arc<Vec<String>>,
}

impl Vias {
    /// The place of a way; a new one is added.
    pub fn place(&mut self, nodes: Vec<u32>, names: &[String]) -> u32 {
        *self.known.entry(nodes).or_insert_with_key(|nodes| {
            let words: Vec<&str> = nodes.iter().map(|n| names[*n as usize].as_str()).collect();
            Arc::make_mut(&mut self.names).push(words.join(", "));
            self.names.len() as u32 - 1
        })
    }
}

/// Rows of `queues` and `links`: where, and numbers.
#[derive(Default)]
pub struct PortRows {
    pub node: Vec<u32>,
    pub port: Vec<u16>,
    pub peer: Vec<u32>,
    pub queue: Vec<u16>,
    pub class: Vec<u8>,
    pub numbers: Vec<[u64; 7]>,
}

impl PortRows {
    fn number(&self, i: usize) -> Data {
        Data::U64(self.numbers.iter().map(|r| r[i]).collect())
    }
}

fn times(t: impl Iterator<Item = Time>) -> Data {
    Data::U64(t.map(Time::ps).collect())
}

/// A collective operation, with what is known of its messages.
#[derive(Debug, Clone)]
pub struct Measured {
    pub of: Collective,
    /// When the first of them started.
    pub start: Option<u64>,
    /// When the last of those that arrived did.
    pub end: u64,
    /// How many arrived.
    pub arrived: u64,
}

impl Measured {
    pub const fn new(of: Collective) -> Self {
        Self { of, start: None, end: 0, arrived: 0 }
    }

    /// Adds a message: when it started and when it arrived, if it did.
    pub fn add(&mut self, start: u64, arrived: Option<u64>) {
        self.start = Some(self.start.map_or(start, |first| first.min(start)));
        self.end = self.end.max(arrived.unwrap_or(0));
        self.arrived += u64::from(arrived.is_some());
    }

    /// From its first message's start to its last one's arrival, when all have arrived.
    fn time(&self) -> Option<u64> {
        self.start.filter(|_| self.arrived == self.of.flows).map(|start| self.end - start)
    }

    /// Bits of its data by time.
    fn rate(&self) -> Option<f64> {
        self.time().map(|time| self.of.bytes as f64 * 8e12 / time as f64)
    }

    /// Its row's numbers.
    pub fn summary(&self) -> CollectiveSummary {
        let rate = self.rate();
        CollectiveSummary { time_ps: self.time(), algorithm_bps: rate, bus_bps: rate.map(|rate| rate * self.of.bus) }
    }
}

/// The tables of a result, without a row: what there is, and what it means.
pub fn tables() -> Vec<Table> {
    let names = Names { nodes: Arc::default(), workloads: Arc::default(), ports: Vec::new() };
    vec![
        names.flows(FlowRows::default(), &Vias::default()),
        names.queues(PortRows::default()),
        names.links(PortRows::default(), Time::ZERO),
        names.pauses(&[]),
        names.drops(&[]),
        names.packets(&[]),
        names.samples(&[]),
        names.delays(&[]),
        names.contributions(&[]),
        names.high_water(&[]),
        names.collectives(&[]),
    ]
}

impl Names {
    /// A port in words.
    pub fn port(&self, node: u32, port: usize) -> String {
        let peer = self.ports[node as usize][port].peer;
        format!("{} port {port} (to {})", self.nodes[node as usize], self.nodes[peer as usize])
    }

    fn node(&self, ids: impl IntoIterator<Item = u32>) -> Data {
        Data::Name(ids.into_iter().collect(), self.nodes.clone())
    }

    pub fn flows(&self, r: FlowRows, vias: &Vias) -> Table {
        let columns = vec![
            Column { name: "flow", meaning: "Its number; flows of a source have numbers without gaps.", data: Data::U32(r.flow) },
            Column { name: "workload", meaning: "The workload it is of.", data: Data::Name(r.workload, self.workloads.clone()) },
            Column { name: "label", meaning: "Its `id`, if it has one.", data: Data::MaybeText(r.label) },
            Column { name: "src", meaning: "Where it starts.", data: self.node(r.src) },
            Column { name: "dst", meaning: "Where it ends.", data: self.node(r.dst) },
            Column { name: "size_bytes", meaning: "Payload.", data: Data::U64(r.size) },
            Column { name: "start_ps", meaning: "When it started.", data: Data::U64(r.start) },
            Column {
                name: "fct_ps",
                meaning: "From its start to the receiver's last byte; null if that never came.",
                data: Data::MaybeU64(r.fct),
            },
            Column {
                name: "fct_acked_ps",
                meaning: "From its start to the sender's last ACK; null if that never came.",
                data: Data::MaybeU64(r.acked),
            },
            Column {
                name: "ideal_fct_ps",
                meaning: "What `fct_ps` would be alone in the network, by the path that it took.",
                data: Data::U64(r.ideal),
            },
            Column {
                name: "fastest_fct_ps",
                meaning: "The same by the fastest of the shortest paths, or by its own if that is faster.",
                data: Data::U64(r.fastest),
            },
            Column { name: "slowdown", meaning: "`fct_ps` over `ideal_fct_ps`.", data: Data::MaybeF64(r.slowdown) },
            Column { name: "packets_sent", meaning: "Packets sent, again ones included.", data: Data::U64(r.sent) },
            Column { name: "retransmitted", meaning: "Packets sent again.", data: Data::U64(r.retransmitted) },
            Column {
                name: "notifications",
                meaning: "What its congestion control was told by the network.",
                data: Data::U32(r.notifications),
            },
            Column { name: "holds", meaning: "How often a mechanism held it at its source.", data: Data::U32(r.holds) },
            Column {
                name: "paused_ps",
                meaning: "For how long it was held so; pauses of the port that it left by are not in it.",
                data: Data::U64(r.paused),
            },
            Column {
                name: "via",
                meaning: "The nodes between its ends; empty where each packet chooses its way.",
                data: Data::Name(r.via, vias.names.clone()),
            },
        ];
        Table { name: "flows", about: "One row a flow, as it ends; those that did not end come last.", columns }
    }

    pub fn queues(&self, q: PortRows) -> Table {
        let numbers: Vec<Data> = (0..5).map(|i| q.number(i)).collect();
        let mut columns = vec![
            Column { name: "node", meaning: "Whose port it is.", data: self.node(q.node) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(q.port) },
            Column { name: "peer", meaning: "The node at the other end of the link.", data: self.node(q.peer) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(q.queue) },
            Column { name: "class", meaning: "The class of what waits in it.", data: Data::U8(q.class) },
        ];
        let names = [
            ("max_bytes", "Its greatest depth."),
            ("packets", "Packets that left it."),
            ("bytes", "Bytes that left it."),
            ("marked", "Packets that were marked in it."),
            ("dropped", "Packets that were to wait in it and were dropped."),
        ];
        columns.extend(names.into_iter().zip(numbers).map(|((name, meaning), data)| Column { name, meaning, data }));
        Table {
            name: "queues",
            about: "One row a queue of a port that held, sent or dropped something; control frames have one of their own, which is left out.",
            columns,
        }
    }

    /// `end` is when the last link fell silent, or when the run was cut short.
    pub fn links(&self, l: PortRows, end: Time) -> Table {
        let end = end.ps().max(1) as f64;
        let utilisation = Data::F64(l.numbers.iter().map(|r| r[4] as f64 / end).collect());
        let numbers: Vec<Data> = (0..7).map(|i| l.number(i)).collect();
        let mut columns = vec![
            Column { name: "node", meaning: "The node that sends.", data: self.node(l.node) },
            Column { name: "port", meaning: "Its port.", data: Data::U16(l.port) },
            Column { name: "peer", meaning: "The node that receives.", data: self.node(l.peer) },
        ];
        let names = [
            ("rate_bps", "The link's rate."),
            ("delay_ps", "Its propagation delay."),
            ("data_bytes", "Bytes of data packets, again ones included."),
            ("control_bytes", "Bytes of all other frames."),
            ("busy_ps", "For how long it sent."),
            ("paused_ps", "For how long some queue of the port was paused, overlaps counted for each."),
            ("data_packets", "Data packets."),
        ];
        columns.extend(names.into_iter().zip(numbers).map(|((name, meaning), data)| Column { name, meaning, data }));
        columns.push(Column { name: "utilisation", meaning: "`busy_ps` as a share of the run, 0 to 1.", data: utilisation });
        Table { name: "links", about: "One row a direction of a link.", columns }
    }

    /// The highest of a kind, which the first of equals is, with its place in words.
    pub fn highest(&self, kind: Kind, marks: &[(u32, Mark)]) -> HighWater {
        let found = marks.iter().filter(|(_, m)| m.kind == kind).reduce(|best, m| if m.1.bytes > best.1.bytes { m } else { best });
        let Some((node, m)) = found else { return HighWater::default() };
        let port = m.port.map_or_else(|| self.nodes[*node as usize].clone(), |port| self.port(*node, port as usize));
        let place = m.class.map_or_else(|| port.clone(), |class| format!("{port}, class {class}"));
        HighWater { bytes: m.bytes, threshold_bytes: m.threshold, place }
    }

    pub fn high_water(&self, m: &[(u32, Mark)]) -> Table {
        let m: Vec<_> = m.iter().filter(|(_, m)| m.kind != Kind::Queue).collect();
        let maybe = |get: fn(&Mark) -> Option<u64>| Data::MaybeU64(m.iter().map(|(_, m)| get(m)).collect());
        let columns = vec![
            Column { name: "node", meaning: "Where.", data: self.node(m.iter().map(|(node, _)| *node)) },
            Column {
                name: "kind",
                meaning: "`ingress`: all that came by a port and waits; `headroom`: what of it is above XOFF; `pool`: the shared part of the buffer.",
                data: Data::Static(m.iter().map(|(_, m)| m.kind.name()).collect()),
            },
            Column { name: "port", meaning: "The port that it came in by; null of a pool.", data: maybe(|m| m.port.map(u64::from)) },
            Column { name: "class", meaning: "Its class; null of a pool.", data: maybe(|m| m.class.map(u64::from)) },
            Column { name: "bytes", meaning: "The most that there ever was.", data: Data::U64(m.iter().map(|(_, m)| m.bytes).collect()) },
            Column {
                name: "threshold_bytes",
                meaning: "XOFF of an ingress count, the size of a headroom or a pool; null where there is none, or where it moves.",
                data: maybe(|m| m.threshold),
            },
        ];
        Table {
            name: "high_water",
            about: "One row a count of a node that thresholds are compared with, and that was ever above zero; of queues it is `queues.max_bytes`.",
            columns,
        }
    }

    pub fn collectives(&self, c: &[Measured]) -> Table {
        let columns = vec![
            Column {
                name: "workload",
                meaning: "The workload that it is.",
                data: Data::Name(c.iter().map(|c| c.of.workload).collect(), self.workloads.clone()),
            },
            Column {
                name: "operation",
                meaning: "What the ranks have in the end.",
                data: Data::Static(c.iter().map(|c| c.of.operation).collect()),
            },
            Column { name: "algorithm", meaning: "How they come to it.", data: Data::Static(c.iter().map(|c| c.of.algorithm).collect()) },
            Column { name: "ranks", meaning: "How many there are.", data: Data::U32(c.iter().map(|c| c.of.ranks).collect()) },
            Column { name: "size_bytes", meaning: "The data of a rank.", data: Data::U64(c.iter().map(|c| c.of.bytes).collect()) },
            Column {
                name: "start_ps",
                meaning: "When its first message started; null if none did.",
                data: Data::MaybeU64(c.iter().map(|c| c.start).collect()),
            },
            Column {
                name: "time_ps",
                meaning: "From then until its last message had arrived; null if that never came.",
                data: Data::MaybeU64(c.iter().map(Measured::time).collect()),
            },
            Column {
                name: "algorithm_bps",
                meaning: "Algorithm bandwidth: the data of a rank by `time_ps`.",
                data: Data::MaybeF64(c.iter().map(Measured::rate).collect()),
            },
            Column {
                name: "bus_bps",
                meaning: "Bus bandwidth: the same by what each link has to carry of it, 2 (n − 1) / n for an all-reduce and (n − 1) / n else.",
                data: Data::MaybeF64(c.iter().map(|c| c.summary().bus_bps).collect()),
            },
        ];
        Table { name: "collectives", about: "One row a collective operation, in the order of workloads.", columns }
    }

    /// In order of their ends, which is that of the run; those that last come at its end.
    pub fn pauses(&self, p: &[Pause]) -> Table {
        let peer = |p: &Pause| self.ports[p.node as usize][p.port as usize].peer;
        let origin = |p: &Pause| match p.asker {
            Asker::Neighbour => (Some(peer(p)), None),
            Asker::Output(node, port) => (Some(node), Some(port)),
            Asker::Itself => (None, None),
        };
        let columns = vec![
            Column { name: "node", meaning: "Whose port was paused.", data: self.node(p.iter().map(|p| p.node)) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(p.iter().map(|p| p.port).collect()) },
            Column { name: "peer", meaning: "The node at the other end of the link.", data: self.node(p.iter().map(peer)) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(p.iter().map(|p| p.queue).collect()) },
            Column { name: "class", meaning: "Its class.", data: Data::U8(p.iter().map(|p| p.class).collect()) },
            Column { name: "cause", meaning: "The mechanism that paused it.", data: Data::Static(p.iter().map(|p| p.cause).collect()) },
            Column {
                name: "origin",
                meaning: "The node that asked for it; null where it was the node itself, or one that is not named.",
                data: Data::MaybeName(p.iter().map(|p| origin(p).0).collect(), self.nodes.clone()),
            },
            Column {
                name: "origin_port",
                meaning: "The output there that filled; null where its inputs did.",
                data: Data::MaybeU16(p.iter().map(|p| origin(p).1).collect()),
            },
            Column { name: "start_ps", meaning: "When it began.", data: times(p.iter().map(|p| p.start)) },
            Column {
                name: "end_ps",
                meaning: "When it ended; null if it never did.",
                data: Data::MaybeU64(p.iter().map(|p| p.end.map(Time::ps)).collect()),
            },
        ];
        Table { name: "pauses", about: "One row a pause of a queue of a port, as it ends; those that never ended come last.", columns }
    }

    pub fn drops(&self, d: &[Drop]) -> Table {
        let reasons = Data::Static(d.iter().map(|d| d.by.unwrap_or("buffer full")).collect());
        let columns = vec![
            Column { name: "time_ps", meaning: "When.", data: times(d.iter().map(|d| d.at)) },
            Column { name: "node", meaning: "Where.", data: self.node(d.iter().map(|d| d.node)) },
            Column { name: "port", meaning: "The port that it was to leave by.", data: Data::U16(d.iter().map(|d| d.port).collect()) },
            Column { name: "in_port", meaning: "The port that it came in by.", data: Data::U16(d.iter().map(|d| d.in_port).collect()) },
            Column { name: "class", meaning: "Its class.", data: Data::U8(d.iter().map(|d| d.class).collect()) },
            Column { name: "flow", meaning: "Its flow.", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column { name: "seq", meaning: "Its number in the flow.", data: Data::U32(d.iter().map(|d| d.seq).collect()) },
            Column { name: "reason", meaning: "Why: `buffer full`, or the mechanism that dropped it.", data: reasons },
        ];
        Table { name: "drops", about: "One row a data packet that was dropped.", columns }
    }

    pub fn packets(&self, t: &[Trace]) -> Table {
        let event = |t: &Trace| if t.is_departure { "depart" } else { "arrive" };
        let has = |flags: u16| Data::U8(t.iter().map(|t| u8::from(t.frame.has(flags))).collect());
        let columns = vec![
            Column { name: "time_ps", meaning: "When its last bit arrived, or its first departed.", data: times(t.iter().map(|t| t.at)) },
            Column { name: "node", meaning: "Where.", data: self.node(t.iter().map(|t| t.node)) },
            Column { name: "port", meaning: "The port.", data: Data::U16(t.iter().map(|t| t.port).collect()) },
            Column { name: "event", meaning: "`arrive` or `depart`.", data: Data::Static(t.iter().map(event).collect()) },
            Column {
                name: "kind",
                meaning: "What kind of frame it is.",
                data: Data::Static(t.iter().map(|t| t.frame.kind().name()).collect()),
            },
            Column {
                name: "flow",
                meaning: "Its flow, or that of which it speaks.",
                data: Data::U32(t.iter().map(|t| t.frame.flow()).collect()),
            },
            Column { name: "seq", meaning: "Its number in the flow.", data: Data::U32(t.iter().map(|t| t.frame.seq()).collect()) },
            Column {
                name: "bytes",
                meaning: "Its size on the wire.",
                data: Data::U32(t.iter().map(|t| u32::from(t.frame.bytes())).collect()),
            },
            Column { name: "class", meaning: "Its class.", data: Data::U8(t.iter().map(|t| t.frame.class()).collect()) },
            Column {
                name: "marked",
                meaning: "1 if it is marked, or an answer that says so of its packet.",
                data: has(Packet::CE | Packet::ECHO),
            },
            Column { name: "again", meaning: "1 if it is a packet that was sent before.", data: has(Packet::RETRANSMITTED) },
            Column { name: "last", meaning: "1 if it is the last packet of its flow.", data: has(Packet::LAST) },
            Column {
                name: "value",
                meaning: "What it says beside `seq`: quanta of a PFC frame, nanoseconds of an SFCM, the packet that a NACK is about; 0 if nothing.",
                data: Data::U32(t.iter().map(|t| t.frame.says()).collect()),
            },
        ];
        Table { name: "packets", about: "One row each time a frame arrives or departs; with `probe.packets`.", columns }
    }

    pub fn delays(&self, d: &[Row]) -> Table {
        let columns = vec![
            Column { name: "flow", meaning: "The flow.", data: Data::U32(d.iter().map(|d| d.flow).collect()) },
            Column {
                name: "hop",
                meaning: "Which link of its way; that of its source is number 0.",
                data: Data::U16(d.iter().map(|d| d.hop).collect()),
            },
            Column { name: "node", meaning: "The node that sends there.", data: self.node(d.iter().map(|d| d.node)) },
            Column { name: "port", meaning: "Its port.", data: Data::U16(d.iter().map(|d| d.port).collect()) },
            Column {
                name: "kind",
                meaning: "What went by: `transmission`, `again`, `behind` (packets that go first), `control`, `paused`, `blocked` (behind the head of an input), `held`, `pace`, `window`, `pull` (its receiver had not pulled it), `answers`, `data` (none to send), `serialization`, `propagation`, `processing`.",
                data: Data::Static(d.iter().map(|d| d.part.kind.name()).collect()),
            },
            Column {
                name: "by_flow",
                meaning: "The flow whose packets went first; null where it was none.",
                data: Data::MaybeU32(d.iter().map(|d| d.part.flow).collect()),
            },
            Column {
                name: "by",
                meaning: "The mechanism that paused or held; null where it was none.",
                data: Data::MaybeStatic(d.iter().map(|d| d.part.cause).collect()),
            },
            Column {
                name: "start_ps",
                meaning: "When it began, of a pause; null where pieces are added up.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.from.map(Time::ps)).collect()),
            },
            Column {
                name: "pause_queue",
                meaning: "The queue of that pause in the table `pauses`.",
                data: Data::MaybeU16(d.iter().map(|d| d.part.pause.map(|p| p.0)).collect()),
            },
            Column {
                name: "pause_start_ps",
                meaning: "When that pause began.",
                data: Data::MaybeU64(d.iter().map(|d| d.part.pause.map(|p| p.1.ps())).collect()),
            },
            Column { name: "time_ps", meaning: "How long it took.", data: times(d.iter().map(|d| d.part.time)) },
        ];
        let about = "One row a part of a completion time, with `probe.delays`. The parts of a flow add up to its `fct_ps`; those of one \
                     that was not delivered to its time at its source until the run ended.";
        Table { name: "delays", about, columns }
    }

    pub fn contributions(&self, c: &[Contribution]) -> Table {
        let about = |c: &Contribution| match c.because {
            Because::Input(port, class) => (Some(port as u16), Some(u16::from(class)), None),
            Because::Tagged(port, tag) => (Some(port as u16), None, Some(tag as u16)),
            Because::Output(_) => (None, None, None),
        };
        let columns = vec![
            Column { name: "time_ps", meaning: "When the node asked for a pause.", data: times(c.iter().map(|c| c.at)) },
            Column { name: "node", meaning: "The node.", data: self.node(c.iter().map(|c| c.node)) },
            Column { name: "cause", meaning: "The mechanism.", data: Data::Static(c.iter().map(|c| c.cause).collect()) },
            Column {
                name: "in_port",
                meaning: "The port to whose neighbour it spoke; null where all were told.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).0).collect()),
            },
            Column {
                name: "class",
                meaning: "The class of this node that is to come no more; null where it spoke of something else.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).1).collect()),
            },
            Column {
                name: "peer_queue",
                meaning: "The neighbour's queue that is to stop; null where it spoke of something else.",
                data: Data::MaybeU16(c.iter().map(|c| about(c).2).collect()),
            },
            Column {
                name: "port",
                meaning: "The output that bytes wait for; null where none do, and another mechanism asked.",
                data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.0)).collect()),
            },
            Column { name: "queue", meaning: "The queue there.", data: Data::MaybeU16(c.iter().map(|c| c.place.map(|p| p.1)).collect()) },
            Column { name: "flow", meaning: "Their flow.", data: Data::MaybeU32(c.iter().map(|c| c.flow).collect()) },
            Column { name: "bytes", meaning: "How many.", data: Data::U64(c.iter().map(|c| c.bytes).collect()) },
        ];
        let about = "One row an output and flow whose bytes made a node ask for a pause, with `probe.delays`.";
        Table { name: "contributions", about, columns }
    }

    pub fn samples(&self, s: &[Sample]) -> Table {
        let columns = vec![
            Column { name: "time_ps", meaning: "When.", data: times(s.iter().map(|s| s.at)) },
            Column { name: "node", meaning: "Whose port it is.", data: self.node(s.iter().map(|s| s.node)) },
            Column { name: "port", meaning: "Its number at the node.", data: Data::U16(s.iter().map(|s| s.port).collect()) },
            Column { name: "queue", meaning: "The queue's number at the port.", data: Data::U16(s.iter().map(|s| s.queue).collect()) },
            Column { name: "bytes", meaning: "Its depth.", data: Data::U32(s.iter().map(|s| s.bytes).collect()) },
        ];
        Table {
            name: "samples",
            about: "One row a queue that is not empty, each time queues are looked at; with `probe.queues` or `probe.replay`.",
            columns,
        }
    }
}
