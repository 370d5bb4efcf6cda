//! Verdicts of all audits on a run.

use xoff_document::{Judgement, Scenario};
use xoff_engine::Finish;
use xoff_models::mechanisms::contract::Hooks;
use xoff_models::network::node::{FAULT, Node};
use xoff_models::parts::ids::PortId;
use xoff_models::records::events::{Drop, Pause};
use xoff_units::{Duration, Moment, index};

use crate::audit::{Verdicts, Waiter};
use crate::results::names::Names;

/// Reason for an early end of a run.
#[derive(Debug, Clone)]
pub enum Abort {
    /// Ports of a ring that wait for one another.
    Deadlock(Moment, Vec<Waiter>),
    /// No new packet has arrived since the moment, although flows send.
    Stall(Moment),
}

/// End of a run.
#[derive(Debug, Clone)]
pub struct End {
    /// Result of the engine.
    pub finish: Finish,
    /// Reason for an early end, if any.
    pub abort: Option<Abort>,
}

/// Drops for lack of room in lossless classes.
#[derive(Debug, Clone, Copy)]
pub struct LackOfRoom {
    /// The first drop.
    pub first: Drop,
    /// Wire bytes dropped there within a burst.
    pub bytes: u64,
    /// All dropped packets.
    pub packets: u64,
    /// Pauses that the sender of the first dropped packet had not obeyed by the end of the run.
    pub ignored: u64,
}

/// Data for audits: wire bytes of data, and counts.
#[derive(Debug, Default)]
pub struct Ledger {
    injected: u64,
    delivered: u64,
    dropped: u64,
    /// In queues and on links.
    queued: u64,
    lost: u64,
    reordered: u64,
    /// Data packets lost by faults.
    lost_by_faults: u64,
    /// Side records of packets in the network, and all side records.
    records: (usize, usize),
    /// Active pauses: node, port and class.
    standing: Vec<(u32, PortId, u8)>,
    /// Drops for lack of room in lossless classes.
    pub shortage: Option<LackOfRoom>,
    /// The key of a warning about headroom.
    pub small_headroom: Option<String>,
    /// Undelivered flows, and all flows.
    pub missing: u64,
    /// All flows.
    pub flows: u64,
    /// Operations of jobs that wait for one another, as text.
    pub stuck: Option<String>,
    /// A flow whose parts do not add up to the completion time, with that time.
    pub uncut: Option<(u32, Duration)>,
    /// The first flow or message that was faster than its ideal FCT, with both times.
    pub too_fast: Option<(u32, [Duration; 2])>,
    /// An open connection lost a packet for good.
    pub open_lost: bool,
    /// The scenario has a serving workload.
    pub serves: bool,
    /// The first imbalance of the books of serving, if any.
    pub serving: Option<String>,
}

impl Ledger {
    /// Returns a ledger with the content of links alone: wire bytes of data, side records of frames, and all
    /// side records.
    pub fn new(on_links: (u64, usize), records: usize) -> Self {
        Self { queued: on_links.0, records: (on_links.1, records), ..Self::default() }
    }

    /// Adds the counts of a node.
    pub fn enter<'a>(&mut self, id: u32, node: &Node, peer: impl Fn(u32) -> &'a Node) {
        if let Some(e) = &node.endpoint {
            self.injected += e.injected_bytes;
            self.delivered += e.delivered_bytes;
            self.reordered += e.reordered;
        }
        self.dropped += node.counts.dropped_bytes;
        self.queued += node.queued_bytes();
        self.records.0 += node.queued_records();
        self.lost += node.counts.lost;
        let lost = node.failing.iter().flat_map(|failing| failing.lost.values());
        self.lost_by_faults += lost.map(|lost| lost.packets).sum::<u64>();
        // A host that reads nothing pauses its neighbour until the fault ends.
        let asks_for_ever = |node: &Node| node.failing.as_ref().is_some_and(|failing| failing.is_stalled());
        for mechanism in node.mechanisms.iter().filter(|_| !asks_for_ever(node)) {
            mechanism.standing_pauses(&mut |port, class| self.standing.push((id, port, class)));
        }
        let stands = |p: &&Pause| p.cause != FAULT.name && !asks_for_ever(peer(node.core.ports[p.port].peer));
        self.standing.extend(node.open_pauses.iter().filter(stands).map(|p| (id, p.port, p.class)));
    }

    /// True if a pause is active that will end.
    pub const fn is_paused(&self) -> bool {
        !self.standing.is_empty()
    }

    fn imbalance(&self) -> Option<String> {
        let Self { injected, delivered, dropped, queued, lost, .. } = self;
        let (beside, kept) = self.records;
        if beside != kept {
            return Some(format!("{beside} packets have a side record, and {kept} side records are kept"));
        }
        (*injected != delivered + dropped + queued || *lost > 0).then(|| {
            let astray = if *lost > 0 { format!("; {lost} frames had nowhere to go") } else { String::new() };
            let missing = (delivered + dropped + queued).abs_diff(*injected);
            format!(
                "{missing} B vanished: {injected} B entered, {delivered} B arrived, {dropped} B were dropped and {queued} B are queued{astray}"
            )
        })
    }

    fn loss(&self, names: &Names) -> Option<String> {
        self.shortage.map(|LackOfRoom { first: d, bytes, packets, ignored }| {
            let at = names.port(d.node, d.in_port);
            let why = if ignored > 0 {
                let peer = &names.nodes[index(names.ports[index(d.node)][d.in_port].peer)];
                format!("; {peer} did not obey {ignored} pauses of this class there")
            } else {
                let warned = self.small_headroom.as_ref().map(|key| format!("; `xoff check` warns of {key}"));
                warned.unwrap_or_default()
            };
            format!(
                "{packets} packets of a lossless class were dropped, the first at {} at {at}, class {}, out of port {}, with {bytes} B above XOFF{why}",
                d.at, d.class, d.port,
            )
        })
    }

    /// Returns pauses without an end, for a finished run.
    fn unpaired(&self, names: &Names, end: &End) -> Option<String> {
        let is_over = match end.abort {
            None => end.finish == Finish::Idle,
            Some(Abort::Stall(_)) => true,
            Some(Abort::Deadlock(..)) => false,
        };
        let (id, port, class) = self.standing.first().filter(|_| is_over)?;
        let at = names.port(*id, *port);
        Some(format!("{} pauses never ended, the first at {at}, class {class}", self.standing.len()))
    }

    fn incomplete(&self, end: &End) -> Option<String> {
        let Self { missing, flows, .. } = self;
        match &end.abort {
            Some(Abort::Stall(since)) => Some(format!(
                "{missing} of {flows} flows were not delivered, and no flow has gained a packet since {since}: each retransmission is lost again"
            )),
            _ => (end.finish == Finish::Idle && (*missing > 0 || self.stuck.is_some())).then(|| {
                let stuck = self.stuck.as_ref().map_or_else(String::new, |stuck| format!(": {stuck}"));
                format!("{missing} of {flows} flows were not delivered, and no event is left{stuck}")
            }),
        }
    }

    /// Reports flows that were active or pending at an early end of the run; the audit is not judged.
    fn cut(&self, end: &End) -> Option<String> {
        let Self { missing, flows, .. } = self;
        (end.abort.is_none() && end.finish != Finish::Idle && *missing > 0)
            .then(|| format!("{missing} of {flows} flows had not ended at the end of the run"))
    }
}

fn cycle(names: &Names, end: &End) -> Option<String> {
    let Some(Abort::Deadlock(at, cycle)) = &end.abort else { return None };
    let list: Vec<_> =
        cycle.iter().map(|(id, port, class)| format!("{}, class {class}", names.port(*id, *port))).collect();
    Some(format!("at {at} these queues wait for one another: {}", list.join(" → ")))
}

/// The verdicts of all audits.
pub fn judge(ledger: &Ledger, names: &Names, scenario: &Scenario, end: &End) -> Verdicts {
    let (audits, mechanisms) = (&scenario.audits, scenario.switch.mechanisms());
    let mut verdicts = Verdicts::default();
    verdicts.enter("conservation", Judgement::Fail, ledger.imbalance());
    let is_lossless = mechanisms.any(|p| p.is_lossless);
    match ledger.loss(names).filter(|_| is_lossless) {
        // A lossless class may not drop packets for lack of room. Losses by faults are recorded and are no
        // violation.
        None if is_lossless && ledger.lost_by_faults > 0 => {
            let told = format!(
                "faults lost {} packets; no packet of a lossless class lacked room",
                ledger.lost_by_faults
            );
            verdicts.enter("loss", Judgement::Record, Some(told));
        }
        loss => verdicts.enter("loss", audits.loss, loss),
    }
    verdicts.enter("pauses", audits.pauses, ledger.unpaired(names, end));
    // A mechanism that chooses ports per packet, or a reroute after a fault, may reorder the packets of a
    // flow.
    let is_rerouted = scenario.network.failover.is_given() && !scenario.fault.is_empty();
    let keeps_order = !mechanisms.any(|p| p.routes || p.reorders) && !is_rerouted;
    let disorder = (keeps_order && ledger.reordered > 0)
        .then(|| format!("{} packets arrived out of order within a flow", ledger.reordered));
    verdicts.enter("order", Judgement::Fail, disorder);
    verdicts.enter("deadlock", audits.deadlock, cycle(names, end));
    verdicts.enter("completion", audits.completion, ledger.incomplete(end));
    let uncut = ledger
        .uncut
        .map(|(flow, fct)| format!("the parts of the completion time of flow {flow} do not add up to {fct}"));
    verdicts.enter("delays", Judgement::Fail, uncut);
    // A fault may raise the rate of a link above the rate of the network.
    let too_fast = ledger.too_fast.filter(|_| scenario.fault.is_empty());
    let too_fast = too_fast
        .map(|(flow, [took, ideal])| format!("flow {flow} took {took}, less than the ideal FCT of {ideal}"));
    verdicts.enter("slowdown", Judgement::Fail, too_fast);
    if ledger.serves {
        // A message that is lost for good ends no request.
        let is_over = end.finish == Finish::Idle && end.abort.is_none() && !ledger.open_lost;
        verdicts.enter("serving", Judgement::Fail, ledger.serving.clone().filter(|_| is_over));
    }
    if let Some(cut) = ledger.cut(end) {
        verdicts.note("completion", cut);
    }
    verdicts
}
