use std::collections::BTreeMap;

use xoff_models::frames::framing::Framing;
use xoff_models::paths::topology::{Link, Shape, star};
use xoff_units::{Duration, Rate, index};

use super::parallel::Parallel;
use super::*;
use crate::job::{Graph, Jobs, What, Work};
use crate::language_model::{self as model, Preset};
use crate::workload::{Placement, Workload, make};

fn training(preset: Preset, parallel: Parallel) -> Params {
    Params {
        model: model::Params { preset: Some(preset), ..model::Params::default() },
        parallel,
        micro_batch: 1,
        global_batch: None,
        iterations: 1,
        compute: Compute::default(),
        bytes: Numbers::default(),
        overlap: true,
        buckets: 1,
        collectives: Collectives::default(),
        library: None,
        hosts: None,
        placement: Placement::Linear,
    }
}

fn made(params: Params) -> Result<std::sync::Arc<Graph>, Problem> {
    let link = Link { rate: Rate::gbps(400), delay: Duration::ns(500) };
    let topology = star::Params { hosts: params.parallel.ranks().max(1), link }.build().unwrap();
    let workload = Workload { training: Some(params), ..Workload::default() };
    let plan = make(&[workload], &topology, 1, &Framing::for_tests(), 1, Duration::ZERO)?;
    Ok(Jobs::of(&plan.applications)[0].clone())
}

/// The number and the sizes of collectives, by label and kind.
fn collectives(graph: &Graph) -> BTreeMap<(String, &'static str), (u32, Vec<u64>)> {
    let mut found: BTreeMap<_, (u32, Vec<u64>)> = BTreeMap::new();
    for shared in (0..graph.count_shared()).map(|number| graph.shared(number)) {
        let (kind, bytes) = match shared.what {
            What::Message { bytes, .. } => ("message", bytes),
            What::Collective { shape, .. } => {
                let of = &graph.shapes[index(shape)].of;
                (of.operation.name(), of.size.0)
            }
        };
        let of = found.entry((graph.labels[usize::from(shared.label)].clone(), kind)).or_default();
        of.0 += 1;
        if !of.1.contains(&bytes) {
            of.1.push(bytes);
        }
    }
    found
}

#[test]
fn gpt_13b_sends_what_simais_file_says() {
    let graph =
        made(training(Preset::Gpt13b, Parallel { tensor: 8, data: 16, ..Parallel::default() })).unwrap();
    let found = collectives(&graph);
    let of = |label: &str, kind| found[&(label.to_string(), kind)].clone();
    // 162 a rank and micro-batch, in sixteen groups, and one for the loss.
    assert_eq!(of("TP", "all_reduce"), (16 * 163, vec![20_971_520, 3 * 4 * 2048]));
    assert_eq!(of("DP", "reduce_scatter"), (8, vec![6_497_239_040]));
    assert_eq!(of("DP", "all_gather"), (8, vec![3_248_619_520]));
    assert_eq!(found.len(), 3);
}

#[test]
fn experts_exchange_what_tokens_take_to_them() {
    // The case of Mixtral 8x7B on 128 GPUs: each token to two experts, halves of it by each of two
    // tensor-parallel ranks.
    let parallel = Parallel { tensor: 2, data: 64, expert: 8, ..Parallel::default() };
    let model =
        model::Params { preset: Some(Preset::Mixtral8x7b), sequence: Some(2048), ..model::Params::default() };
    let graph = made(Params { model, ..training(Preset::Mixtral8x7b, parallel) }).unwrap();
    let found = collectives(&graph);
    // Two forward and two backward in each of 32 layers, in sixteen groups of eight.
    assert_eq!(found[&("EP".to_string(), "all_to_all")], (4 * 32 * 16, vec![16_777_216]));
    let experts = 32 * 3 * 4096 * 14_336 / 2;
    assert_eq!(found[&("EDP".to_string(), "reduce_scatter")], (16, vec![4 * experts]));
}

#[test]
fn dense_layers_exchange_no_tokens() {
    // DeepSeek-V3 with its experts on eight ranks: 58 of 61 layers have experts.
    let parallel = Parallel { data: 8, expert: 8, ..Parallel::default() };
    let found = collectives(&made(training(Preset::DeepSeekV3, parallel)).unwrap());
    assert_eq!(found[&("EP".to_string(), "all_to_all")], (4 * 58, vec![2 * 4096 * 7168 * 8]));
    // Replicas reduce the gradients of everything but the experts.
    let dense = 3 * 3 * 7168 * 18_432;
    let beside = 58 * (7168 * 256 + 3 * 7168 * 2048);
    let shared = 61 * 187_105_280 + dense + beside + 2 * 129_280 * 7168;
    assert_eq!(found[&("DP".to_string(), "reduce_scatter")], (1, vec![4 * shared]));
}

#[test]
fn pipelines_pass_on_activations_and_their_gradients() {
    let parallel =
        Parallel { tensor: 2, sequence: true, pipeline: 4, interleave: 2, data: 2, ..Parallel::default() };
    let graph = made(Params { global_batch: Some(16), ..training(Preset::Gpt13b, parallel) }).unwrap();
    let found = collectives(&graph);
    // Eight micro-batches cross seven borders between pieces of the model, both ways, on each of four ranks
    // of a stage.
    assert_eq!(found[&("PP".to_string(), "message")], (2 * 8 * 7 * 4, vec![20_971_520 / 2]));
    // Halves of all-reduces, of each replica and micro-batch: four in each layer, and one at each end.
    let halves = 2 * 8 * (40 * 4 + 2);
    assert_eq!(
        found[&("TP".to_string(), "all_gather")].0 + found[&("TP".to_string(), "reduce_scatter")].0,
        2 * halves
    );
    assert!(graph.ranks.iter().all(|rank| rank.circle().is_none()));
}

#[test]
fn every_message_is_sent_and_received_by_the_ranks_that_it_names() {
    for (pipeline, interleave, zero) in [(1, 1, 0), (2, 1, 1), (4, 2, 2), (4, 1, 3), (2, 4, 3)] {
        let parallel =
            Parallel { tensor: 2, context: 2, pipeline, interleave, data: 2, zero, ..Parallel::default() };
        let params = Params {
            iterations: 2,
            buckets: 3,
            global_batch: Some(16),
            ..training(Preset::Gpt13b, parallel)
        };
        let graph = made(params).unwrap();
        let mut seen = vec![0; index(graph.count_shared())];
        for (number, rank) in (0..).zip(&graph.ranks) {
            assert_eq!(rank.circle(), None);
            for operation in rank.operations() {
                let Some(shared) = operation.work.number() else { continue };
                seen[index(shared)] += 1;
                match (operation.work, graph.shared(shared).what) {
                    (Work::Send(_), What::Message { from, .. }) => assert_eq!(from, number),
                    (Work::Receive(_), What::Message { to, .. }) => assert_eq!(to, number),
                    (Work::Collective { place, .. }, What::Collective { group, .. }) => {
                        assert_eq!(graph.groups[index(group)].ranks[index(place)], number);
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        for (shared, seen) in (0..).zip(seen) {
            let ranks = match graph.shared(shared).what {
                What::Message { .. } => 2,
                What::Collective { group, .. } => graph.groups[index(group)].ranks.len(),
            };
            assert_eq!(seen, ranks);
        }
        assert_eq!(graph.iterations, 2);
    }
}

#[test]
fn a_gpt_computes_what_its_operations_take() {
    let graph =
        made(training(Preset::Gpt13b, Parallel { tensor: 8, data: 2, ..Parallel::default() })).unwrap();
    let time: u64 = graph.ranks[3]
        .operations()
        .map(|o| if let Work::Compute(time) = o.work { time.ps() } else { 0 })
        .sum();
    let flops = graph.flops.unwrap();
    // All ranks together, at 40 % of the peak.
    let expected = flops.iteration / 16.0 / (0.4 * 312e12) * 1e12;
    assert!((time as f64 / expected - 1.0).abs() < 1e-6, "{time} {expected}");
}

#[test]
fn what_does_not_fit_together_is_refused() {
    let refused = |params: Params, what: &str| {
        let (key, why) = made(params).map(|_| ()).unwrap_err();
        assert!(format!("{key}: {why}").starts_with(&format!("workload[0].training.{what}")), "{key}: {why}");
    };
    let gpt = |parallel| training(Preset::Gpt13b, parallel);
    refused(
        gpt(Parallel { pipeline: 3, ..Parallel::default() }),
        "parallel.pipeline: 40 layers cannot be divided evenly",
    );
    refused(
        gpt(Parallel { data: 4, expert: 2, ..Parallel::default() }),
        "parallel.expert: 1 experts cannot be divided",
    );
    refused(
        gpt(Parallel { interleave: 2, ..Parallel::default() }),
        "parallel.interleave: needs more than one stage",
    );
    refused(gpt(Parallel { zero: 4, ..Parallel::default() }), "parallel.zero: 4 is out of range");
    refused(gpt(Parallel { tensor: 0, ..Parallel::default() }), "parallel.tensor: 0 is out of range");
    let odd = Params { global_batch: Some(5), ..gpt(Parallel { data: 2, ..Parallel::default() }) };
    refused(odd, "global_batch: 5 sequences are not whole micro-batches");
    let own = Params {
        model: model::Params { layers: Some(4), ..model::Params::default() },
        ..gpt(Parallel::default())
    };
    refused(own, "model.hidden: missing");
    let slow =
        Params { compute: Compute { efficiency: 0.0, ..Compute::default() }, ..gpt(Parallel::default()) };
    refused(slow, "compute.efficiency: 0 is out of range");
}
