//! Tables and summaries of applications that bring their own results ([`Results`]).

use std::collections::BTreeMap;

use xoff_engine::Checkpoint;
use xoff_models::network::node::Node;
use xoff_models::paths::symmetry::View;
use xoff_models::records::table::Table;
use xoff_models::traffic::application::{Planned, Results};

use super::contract::{Collect, Shared};
use super::names::Names;
use super::rows::RowSet;
use crate::runner::Runner;
use crate::summary::Summary;

/// Collects the records of these applications.
pub struct Applications {
    own: Own,
    /// The simulated nodes, each with the nodes that it stands for.
    views: BTreeMap<u32, Vec<View>>,
}

/// The results of each application, which keep their rows to the end of the run.
#[derive(Default)]
pub struct Own(Vec<Box<dyn Results>>);

impl RowSet for Own {
    fn hand_on(&mut self, least: usize, names: &Names, take: &mut dyn FnMut(Table)) {
        if least == 0 {
            self.0.iter_mut().flat_map(|one| one.tables(names)).for_each(take);
        }
    }
}

impl Collect for Applications {
    type Rows = Own;

    fn new(runner: &Runner, shared: &Shared) -> Self {
        let own = Own(runner.plan.applications.each().filter_map(Planned::results).collect());
        let mut views: BTreeMap<u32, Vec<View>> = BTreeMap::new();
        for view in shared.unfold.views().iter().filter(|_| !own.0.is_empty()) {
            views.entry(view.of).or_default().push(*view);
        }
        Self { own, views }
    }

    fn rows(&mut self) -> &mut Own {
        &mut self.own
    }

    fn take(&mut self, cp: &mut Checkpoint<'_, Node>, shared: &mut Shared) {
        let Self { own: Own(all), views } = self;
        for (id, views) in views {
            let Some(endpoint) = cp.node_mut(*id).endpoint.as_mut() else { continue };
            for part in endpoint.applications.each_mut() {
                for one in &mut *all {
                    one.take(part, views, shared.unfold.group());
                }
            }
        }
    }

    fn summarize(&mut self, shared: &mut Shared, summary: &mut Summary) {
        let of = |one: &mut Box<dyn Results>| (one.name(), one.summary(&shared.names));
        summary.applications = self.own.0.iter_mut().map(of).collect();
    }
}
