//! Placement: the hosts of a job's ranks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use xoff_models::parts::param_error::remove;
use xoff_models::traffic::workload::{Host, Making, Problem};
use xoff_units::index;

/// The order in which ranks are placed at hosts without a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// Rank 0 at host 0, and so on. With NCCL: server by server, on GPUs that no earlier job of the scenario has,
    /// as long as there are enough.
    #[default]
    Linear,
    /// Consecutive ranks at different first switches; on rails and with NCCL, in different servers.
    Rail,
    /// In a random order, drawn from the seed; with NCCL the servers are drawn, and their GPUs stay together.
    Random,
}

/// Returns the hosts of `ranks` ranks: the listed hosts, or the first hosts in the order of a placement.
pub(super) fn place(
    making: &Making<'_>,
    ranks: usize,
    hosts: Option<&Vec<Host>>,
    placement: Placement,
    key: &str,
) -> Result<Vec<u32>, Problem> {
    let mut places = making.hosts(hosts, &format!("{key}.hosts"))?;
    if places.len() < ranks {
        let what = if hosts.is_some() { "are listed" } else { "are in the network" };
        return Err((
            format!("{key}.hosts"),
            format!("{} hosts {what}; the job has {ranks} ranks", places.len()),
        ));
    }
    if hosts.is_some() && placement != Placement::Linear {
        return Err((format!("{key}.placement"), remove("not allowed with hosts, whose order decides")));
    }
    match placement {
        Placement::Linear => {}
        Placement::Rail => {
            let switch = |host: u32| making.ports[index(host)].first().map(|port| port.peer);
            // The first host of each switch, then the second of each: a stable sort keeps switches in
            // order.
            let mut count = std::collections::HashMap::new();
            let mut turns: Vec<(u32, u32)> = Vec::with_capacity(places.len());
            for host in &places {
                let turn = count.entry(switch(*host)).or_insert(0);
                turns.push((*turn, *host));
                *turn += 1;
            }
            turns.sort_by_key(|(turn, _)| *turn);
            places = turns.into_iter().map(|(_, host)| host).collect();
        }
        Placement::Random => making.stream_for(0, "placement").shuffle(&mut places),
    }
    places.truncate(ranks);
    Ok(places)
}
