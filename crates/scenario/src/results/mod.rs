//! Results: what the nodes of a run record, as tables and as a summary. A kind of result is one collector, which is a file
//! or a folder here and a line in `registry!`. Its contract is [`contract::Collect`].

mod contract;
mod counts;
mod ends;
pub mod names;
mod news;
mod rows;
pub mod statistics;
mod tally;
pub mod unfold;
mod ways;
mod words;
pub(crate) mod work;

use std::sync::Arc;

use xoff_document::Scenario;
use xoff_engine::{Checkpoint, Finish};
use xoff_models::network::node::Node;
use xoff_models::paths::routing::Map;
use xoff_models::ports::queueing::port::Port;
use xoff_units::Moment;

use self::contract::{Collect, Keeps, Shared};
use self::counts::Counts;
pub use self::counts::{Declared, groups, listeners};
use self::ends::Ends;
use self::names::Names;
use self::news::News;
use self::rows::RowSet;
use self::unfold::Unfold;
use self::work::Work;
pub use self::workloads::keys as measures;
use crate::audit::Verdicts;
use crate::ideal::IdealFct;
use crate::observer::{Observer, Progress};
use crate::runner::Runner;
use crate::summary::Summary;
use crate::traffic::goes_on;
use crate::verdicts::{End, Ledger, judge};
use crate::warnings::{Warning, small_headroom, warnings};
use xoff_models::records::table::Table;
use xoff_models::traffic::application::Names as NamesOfNodes;

/// Rows are handed on in batches of this size.
const BATCH: usize = 1 << 16;

/// Defines [`Collectors`] from a line for each collector. Tables come in the order of the lines.
macro_rules! registry {
    ($($name:ident: $collector:ident,)*) => {
        $(pub mod $name;)*

        struct Collectors {
            $($name: $name::$collector,)*
        }

        impl Collectors {
            fn new(runner: &Runner, shared: &Shared) -> Self {
                Self { $($name: $name::$collector::new(runner, shared),)* }
            }

            fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
                $(self.$name.take(cp, shared);)*
            }

            /// Lets all collectors hear what some have told.
            fn hear(&mut self, shared: &mut Shared) {
                let News { drops, messages, operations, flows } = std::mem::take(&mut shared.news);
                for drop in &drops {
                    $(self.$name.dropped(drop, shared);)*
                }
                for message in &messages {
                    $(self.$name.message(message, shared);)*
                    if let Some(over) = &message.over {
                        $(self.$name.over(over, shared);)*
                    }
                }
                for operation in &operations {
                    $(self.$name.operation(operation, shared);)*
                }
                for flow in &flows {
                    $(self.$name.flow(flow, shared);)*
                    if let Some(over) = &flow.over {
                        $(self.$name.over(over, shared);)*
                    }
                }
            }

            fn close(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
                $(self.$name.close(cp, shared);)*
                self.hear(shared);
                let unfold = shared.unfold.clone();
                for view in unfold.views() {
                    $(self.$name.close_node(cp, view, shared);)*
                    self.hear(shared);
                }
            }

            fn judge(&self, cp: &Checkpoint<'_, Node>, shared: &Shared, ledger: &mut Ledger) {
                $(self.$name.judge(cp, shared, ledger);)*
            }

            fn fault(&self) -> Option<String> {
                [$(self.$name.fault()),*].into_iter().flatten().next()
            }

            fn finish(&mut self, cp: &Checkpoint<'_, Node>, shared: &mut Shared) {
                $(self.$name.finish(cp, shared);)*
            }

            fn hand_on(&mut self, shared: &Shared, take: &mut dyn FnMut(Table)) {
                $(self.$name.hand_on(BATCH, shared, take);)*
            }

            fn tables(&mut self, shared: &Shared) -> Vec<Table> {
                let mut all = Vec::new();
                $(self.$name.rows().hand_on(0, &shared.names, &mut |table| all.push(table));)*
                all
            }

            fn summarize(&mut self, shared: &mut Shared, summary: &mut Summary) {
                $(self.$name.summarize(shared, summary);)*
            }
        }

        /// Returns the tables of a result without rows, for their descriptions.
        pub fn tables() -> Vec<Table> {
            let (names, mut all) = (Names::default(), Vec::new());
            $(<$name::$collector as Collect>::Rows::default().hand_on(0, &names, &mut |table| all.push(table));)*
            all
        }
    };
}

registry! {
    flows: Flows,
    ports: Ports,
    pauses: Pauses,
    losses: Losses,
    traces: Traces,
    delays: Delays,
    high_water: HighWater,
    messages: Messages,
    jobs: Jobs,
    workloads: Workloads,
    faults: Faults,
    serving: Serving,
    applications: Applications,
    incidents: Incidents,
    components: Components,
}

/// The results of a run.
pub struct Results {
    shared: Shared,
    all: Collectors,
    warnings: Vec<Warning>,
    /// A frame had nowhere to go.
    pub is_astray: bool,
}

impl Results {
    /// Before the first event; `wants_rows` as in [`Observer::wants_rows`].
    pub fn new(runner: &Runner, unfold: Unfold, wants_rows: bool) -> Self {
        let unfold = Arc::new(unfold);
        let keeps = Keeps::new(runner, wants_rows);
        let acknowledges = runner.settings.protocols()[0].acknowledges();
        let payload = runner.settings.framing.payload;
        let work = Work::new(&runner.plan, payload, unfold.times(), keeps.flows);
        let shared = Shared {
            plan: runner.plan.without_flows(),
            names: Names {
                own: NamesOfNodes {
                    nodes: Arc::new(runner.topology.nodes.iter().map(|n| n.name.clone()).collect()),
                    workloads: Arc::new(runner.plan.names.clone()),
                },
                ports: runner.ports.clone(),
                ..Names::default()
            },
            ends: Ends::new(&runner.plan, acknowledges, unfold.clone(), keeps.flows, work),
            unfold,
            ideal: IdealFct::new(runner),
            counts: Counts::new(&runner.settings),
            keeps,
            until: Moment::ZERO,
            was_cut: false,
            news: News::default(),
        };
        let all = Collectors::new(runner, &shared);
        Self { shared, all, warnings: warnings(runner), is_astray: false }
    }

    /// Data packet-hops of the simulated nodes so far.
    pub fn hops(&self, cp: &Checkpoint<'_, Node>) -> u64 {
        self.shared.unfold.simulated().map(|id| cp.node(id).counts.data_hops).sum()
    }

    /// Progress of all nodes.
    pub fn progress(&self, cp: &Checkpoint<'_, Node>, until: Option<Moment>) -> Progress {
        let data_packet_hops = self.hops(cp) * u64::from(self.shared.unfold.times());
        Progress { data_packet_hops, ..self.shared.ends.progress(cp.now, until) }
    }

    /// Returns the end of a run without further events: the end of the last flow or operation or, with
    /// unfinished flows, the departure of the last data packet.
    pub fn end(&self, cp: &Checkpoint<'_, Node>) -> Moment {
        let ends = &self.shared.ends;
        let ended = ends.last.max(ends.last_operation);
        if ends.missing() == 0 {
            return ended;
        }
        let ports = (0..cp.nodes()).flat_map(|id| &cp.node(id).core.ports);
        ports.map(|p| p.last_data).fold(ended, Moment::max)
    }

    /// Starts the collection.
    pub fn begin(&mut self, cp: &Checkpoint<'_, Node>) {
        self.shared.ideal.routing = cp.node(0).core.routing.clone();
    }

    /// Routes at the start of the run.
    pub fn whole_map(&self) -> Arc<Map> {
        self.shared.ideal.routing.clone()
    }

    /// Takes flows that ended since the last call, and leaves other records in place.
    pub fn take_flows(&mut self, cp: &mut Checkpoint<'_, Node>) {
        self.is_astray |= (0..cp.nodes()).any(|id| cp.node(id).counts.lost > 0);
        self.all.flows.take(cp, &mut self.shared);
        self.all.hear(&mut self.shared);
    }

    /// Takes the records of nodes before a moment, and passes complete batches to the observer.
    pub fn take(&mut self, until: Moment, cp: &mut Checkpoint<'_, Node>, observer: &mut dyn Observer) {
        self.shared.until = until;
        self.is_astray |= (0..cp.nodes()).any(|id| cp.node(id).counts.lost > 0);
        while observer.takes_rows() && self.all.messages.take_part(cp, &mut self.shared) {
            self.all.hear(&mut self.shared);
            self.all.hand_on(&self.shared, &mut |table| observer.rows(table));
        }
        self.all.take(cp, &mut self.shared);
        self.all.hear(&mut self.shared);
        if observer.takes_rows() {
            self.all.hand_on(&self.shared, &mut |table| observer.rows(table));
        }
    }

    /// See [`tally::Tally::fault`].
    pub fn fault(&self) -> Option<String> {
        self.all.fault()
    }

    /// True when only events of faults are left: no frame is in the network, and no flow will start. Flows
    /// with lost packets that are not retransmitted may be unfinished.
    pub fn is_over(&self, cp: &Checkpoint<'_, Node>) -> bool {
        let nodes = || (0..cp.nodes()).map(|id| cp.node(id));
        let waits = |node: &Node| node.queued_bytes() > 0 || node.core.ports.iter().any(Port::has_more);
        if goes_on(cp) || nodes().any(waits) {
            return false;
        }
        let failing = || nodes().filter_map(|node| node.failing.as_ref());
        // A stalled host may hold data that flows wait for.
        let has_stalled = failing().any(|failing| failing.is_stalled());
        let is_missed = self.shared.ends.missing() > 0;
        if is_missed && (has_stalled || failing().any(|failing| failing.waiting().next().is_some())) {
            return false;
        }
        let mut ledger = Ledger::default();
        nodes().for_each(|node| ledger.enter(node.core.id, node, |peer| cp.node(peer)));
        !ledger.is_paused() && (cp.is_quiet() || has_stalled)
    }

    /// Ends the collection, and judges the run. The ledger has the frames on links.
    pub fn conclude(
        &mut self,
        cp: &mut Checkpoint<'_, Node>,
        scenario: &Scenario,
        end: &End,
        mut ledger: Ledger,
    ) -> Verdicts {
        self.shared.was_cut = end.finish != Finish::Idle;
        self.all.close(cp, &mut self.shared);
        for id in self.shared.unfold.simulated() {
            ledger.enter(id, cp.node(id), |peer| cp.node(peer));
        }
        self.all.judge(cp, &self.shared, &mut ledger);
        ledger.small_headroom = small_headroom(&self.warnings);
        self.all.finish(cp, &mut self.shared);
        let verdicts = judge(&ledger, &self.shared.names, scenario, end);
        self.all.incidents.judged(&verdicts);
        verdicts
    }

    /// Returns the tables with the rows not yet handed on.
    pub fn tables(&mut self) -> Vec<Table> {
        self.all.tables(&self.shared)
    }

    /// Returns the summary, without what is no result of a collector.
    pub fn summary(mut self) -> Summary {
        let mut summary = Summary { warnings: self.warnings, ..Summary::default() };
        self.all.summarize(&mut self.shared, &mut summary);
        summary
    }
}
