//! Messages of NCCL's algorithms: complete sums, bytes of servers, rails, wire bytes.

use std::collections::{BTreeMap, BTreeSet};

use xoff_models::paths::topology::Gpu;

use super::*;
use crate::job::Way;
use crate::job::nccl::tuner::Servers;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// Returns servers with NICs for GPUs in order, and their team.
fn system(servers: u32, gpus: u32, nics: u32) -> (Servers, Team) {
    let ranks: Vec<(u32, u32)> = (0..servers * gpus).map(|r| (r / gpus, r % gpus * nics / gpus)).collect();
    (Servers::new(servers, gpus, nics, 50.0, Gpu::H100), Team::new(&ranks).unwrap())
}

fn made(
    (servers, team): &(Servers, Team),
    operation: collective::Operation,
    algorithm: Option<Algorithm>,
    protocol: Protocol,
    bytes: u64,
) -> Plan {
    let options = Options { algorithm, protocol: Some(protocol), ..Options::default() };
    let mut plan = plan(team, *servers, operation, bytes, &options).unwrap();
    plan.messages = plan.messages.whole(team.ranks());
    plan
}

#[test]
fn one_server_of_a_ring_stands_for_all() {
    for (servers, gpus, nics, channels) in [(2, 8, 8, 2), (3, 4, 2, 3), (5, 2, 2, 1), (4, 1, 1, 1)] {
        let (servers, team) = system(servers, gpus, nics);
        let tuning = Tuning::new(servers);
        for operation in [Operation::AllReduce, Operation::AllGather, Operation::ReduceScatter] {
            let choice =
                tuning.choose(operation, MIB, Some(Algorithm::Ring), Some(Protocol::Simple)).unwrap();
            let choice = Choice { channels, ..choice };
            let loop_bytes = u64::from(team.ranks() * channels) * 16;
            for (bytes, is_even) in
                [(loop_bytes * 40_000, true), (loop_bytes * 3, true), (loop_bytes * 3 + 16, false)]
            {
                let chunks = Chunks::new(&tuning, operation, choice, bytes);
                let parts = ring::parts(&team, operation, channels, &chunks, bytes);
                let has_shares = operation != Operation::AllReduce;
                assert_eq!(parts.is_some(), is_even || has_shares, "{operation:?} of {bytes} B");
                let Some((parts, listed)) = parts else { continue };
                let made = |parts: u32| {
                    let mut draft = Draft { team: &team, pxn: true, list: Messages::of_first_of(parts) };
                    ring::add(&mut draft, &tuning, (operation, bytes), choice, &chunks, listed as usize);
                    draft.together()
                };
                let (part, all) = (made(parts), made(1));
                assert_eq!(part.len() as u64, listed);
                assert_eq!(all.len(), part.len() * index(parts));
                for part in [part.clone(), split(&part, 3)] {
                    let all = if part.len() as u64 == listed { all.clone() } else { split(&all, 3) };
                    assert!(part.whole(team.ranks()).iter().eq(all.iter()), "{operation:?} of {bytes} B");
                }
            }
        }
    }
}

/// The wire bytes that each server sends from each NIC.
fn sent(team: &Team, plan: &Plan) -> BTreeMap<(u32, u32), u64> {
    let mut sent = BTreeMap::new();
    for piece in plan.messages.pieces() {
        if let Way::Nic(via) = piece.way {
            *sent.entry((team.place(via).0, team.nic(via))).or_default() += piece.bytes;
        }
    }
    sent
}

/// Returns the ranks whose data each rank has at the end: the own data, and for each message the data of the
/// sender and of all messages before. An NVSwitch adds the data of all GPUs of a server.
fn sums(team: &Team, plan: &Plan) -> Vec<BTreeSet<u32>> {
    let mut data: Vec<Option<BTreeSet<u32>>> = vec![None; plan.messages.len()];
    let mut open: Vec<usize> = (0..data.len()).collect();
    while !open.is_empty() {
        let before = open.len();
        open.retain(|place| {
            let (piece, after) = (&plan.messages.pieces()[*place], plan.messages.before(*place));
            if after.iter().any(|other| data[index(*other)].is_none()) {
                return true;
            }
            let mut all = BTreeSet::from([piece.from]);
            if matches!(piece.way, Way::Reduce) {
                let (server, _) = team.place(piece.from);
                all.extend((0..team.gpus()).map(|gpu| team.rank(server, gpu)));
            }
            all.extend(after.iter().flat_map(|other| data[index(*other)].clone().unwrap()));
            data[*place] = Some(all);
            false
        });
        assert!(open.len() < before, "messages wait in a circle");
    }
    let mut last: Vec<BTreeSet<u32>> = (0..team.ranks()).map(|rank| BTreeSet::from([rank])).collect();
    for (piece, data) in plan.messages.pieces().iter().zip(data) {
        last[piece.to as usize].extend(data.unwrap());
    }
    last
}

#[test]
fn an_all_reduce_brings_the_data_of_all_ranks_to_all_ranks() {
    for (servers, gpus, nics) in [(1, 8, 8), (2, 8, 8), (3, 8, 4), (4, 4, 2), (5, 8, 8), (6, 1, 1), (7, 2, 2)]
    {
        let system = system(servers, gpus, nics);
        let all: BTreeSet<u32> = (0..system.1.ranks()).collect();
        for algorithm in [Algorithm::Ring, Algorithm::Tree, Algorithm::Nvls, Algorithm::NvlsTree] {
            let fits = match algorithm {
                Algorithm::Nvls => servers == 1,
                Algorithm::NvlsTree => servers > 1 && gpus > 1,
                _ => true,
            };
            if !fits {
                continue;
            }
            let plan =
                made(&system, collective::Operation::AllReduce, Some(algorithm), Protocol::Simple, 48 * KIB);
            for (rank, sum) in sums(&system.1, &plan).into_iter().enumerate() {
                assert_eq!(sum, all, "{algorithm:?} on {servers} x {gpus}, rank {rank}");
            }
        }
    }
}

#[test]
fn a_ring_keeps_to_its_rail_and_shares_the_data_among_all_nics() {
    for (servers, gpus, nics) in [(2, 8, 8), (5, 8, 4), (3, 8, 2)] {
        let system = system(servers, gpus, nics);
        let size = 64 * MIB * u64::from(servers * gpus);
        let plan =
            made(&system, collective::Operation::AllReduce, Some(Algorithm::Ring), Protocol::Simple, size);
        for piece in plan.messages.pieces() {
            if let Way::Nic(via) = piece.way {
                assert_eq!(system.1.nic(via), system.1.nic(piece.to), "{piece:?} leaves its rail");
                assert_eq!(system.1.place(via).0, system.1.place(piece.from).0);
            }
        }
        let sent = sent(&system.1, &plan);
        let n = f64::from(servers * gpus);
        let expected = 2.0 * (n - 1.0) / n * size as f64 / f64::from(nics);
        assert_eq!(sent.len() as u32, servers * nics);
        for (nic, bytes) in sent {
            assert!((bytes as f64 / expected - 1.0).abs() < 0.001, "{nic:?}: {bytes} of {expected}");
        }
    }
}

#[test]
fn the_busiest_server_of_trees_sends_as_the_theory_says() {
    let size = 256 * MIB;
    for (servers, share) in [(2, 1.0), (3, 1.5), (4, 2.0), (8, 2.0)] {
        for algorithm in [Algorithm::Tree, Algorithm::NvlsTree] {
            let system = system(servers, 8, 8);
            let plan =
                made(&system, collective::Operation::AllReduce, Some(algorithm), Protocol::Simple, size);
            let mut of_server: BTreeMap<u32, u64> = BTreeMap::new();
            for ((server, _), bytes) in sent(&system.1, &plan) {
                *of_server.entry(server).or_default() += bytes;
            }
            let busiest = of_server.values().copied().max().unwrap() as f64 / size as f64;
            assert!((busiest / share - 1.0).abs() < 0.01, "{algorithm:?} on {servers}: {busiest}");
        }
    }
}

#[test]
fn flags_travel_with_the_data() {
    let system = system(2, 8, 8);
    let bytes = |protocol| -> u64 {
        let plan = made(
            &system,
            collective::Operation::AllReduce,
            Some(Algorithm::Ring),
            protocol,
            16 * 16 * 1_920 * 15,
        );
        plan.messages.pieces().iter().map(|piece| piece.bytes).sum()
    };
    let simple = bytes(Protocol::Simple);
    assert_eq!(bytes(Protocol::Ll), 2 * simple);
    assert_eq!(bytes(Protocol::Ll128) * 15, simple * 16);
}

#[test]
fn pairs_stay_on_their_rail_by_nics_of_others_alone() {
    let (servers, team) = system(3, 8, 8);
    for pxn in [true, false] {
        let options = Options { pxn, ..Options::default() };
        let plan = plan(&team, servers, collective::Operation::AllToAll, 24 * MIB, &options).unwrap();
        let leaves = plan
            .messages
            .iter()
            .any(|(piece, _)| matches!(piece.way, Way::Nic(via) if team.nic(via) != team.nic(piece.to)));
        assert_eq!(leaves, !pxn);
        let mut bytes: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for piece in plan.messages.pieces() {
            *bytes.entry((piece.from, piece.to)).or_default() += piece.bytes;
        }
        assert!(bytes.len() == 24 * 23 && bytes.values().all(|bytes| *bytes == MIB));
    }
}

#[test]
fn servers_with_different_numbers_of_ranks_are_refused() {
    assert!(Team::new(&[(0, 0), (0, 1), (1, 0)]).is_none());
    assert!(Team::new(&[(0, 0), (0, 1), (1, 0), (1, 0)]).is_none());
    assert!(Team::new(&[(4, 3), (2, 5)]).is_some());
}

#[test]
fn pat_gathers_and_scatters_between_all_ranks() {
    let system = system(6, 1, 1);
    let all: BTreeSet<u32> = (0..6).collect();
    for operation in [collective::Operation::AllGather, collective::Operation::ReduceScatter] {
        let plan = made(&system, operation, Some(Algorithm::Pat), Protocol::Simple, 6 * 64 * KIB);
        let sums = sums(&system.1, &plan);
        assert!(sums.iter().all(|sum| *sum == all));
    }
}
