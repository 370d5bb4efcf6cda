//! Algorithms of collectives: bytes, complete sums, dependencies, equal parts, and what is refused.

use super::super::shape::Shape;
use super::*;

fn params(operation: Operation, algorithm: Algorithm, size: u64) -> Collective {
    Collective { algorithm, ..Collective::new(operation, Bytes(size)) }
}

fn all() -> Vec<(Collective, u64)> {
    let group = |p: Collective| Collective { group: Some(4), ..p };
    let reduce = Operation::AllReduce;
    // With n = 8: sum of the bytes of all ranks, in eighths of the data.
    vec![
        (params(reduce, Algorithm::Ring, 8_000_003), 14 * 8),
        (params(Operation::ReduceScatter, Algorithm::Ring, 8_000_003), 7 * 8),
        (params(Operation::AllGather, Algorithm::Ring, 8_000_003), 7 * 8),
        (params(reduce, Algorithm::HalvingDoubling, 8_000_003), 14 * 8),
        (params(Operation::ReduceScatter, Algorithm::HalvingDoubling, 8_000_003), 7 * 8),
        (params(Operation::AllGather, Algorithm::HalvingDoubling, 8_000_003), 7 * 8),
        // Each link of a tree once up and once down.
        (params(reduce, Algorithm::DoubleTree, 8_000_003), 14 * 8),
        // 2 · 3/4 within groups and 2 · 1/2 · 1/4 among groups.
        (group(params(reduce, Algorithm::Hierarchical, 8_000_003)), 14 * 8),
        (params(Operation::AllToAll, Algorithm::Direct, 8_000_003), 7 * 8),
        // All data up and all data down; each share from all ranks, or to all other ranks.
        (params(reduce, Algorithm::InNetwork, 8_000_003), 16 * 8),
        (params(Operation::ReduceScatter, Algorithm::InNetwork, 8_000_003), 9 * 8),
        (params(Operation::AllGather, Algorithm::InNetwork, 8_000_003), 8 * 8),
        (params(Operation::Broadcast, Algorithm::InNetwork, 8_000_003), 8 * 8),
        (params(Operation::Reduce, Algorithm::InNetwork, 8_000_003), 9 * 8),
        (params(Operation::AllToAll, Algorithm::Rounds, 8_000_003), 7 * 8),
    ]
}

#[test]
fn ranks_send_exactly_what_the_algorithm_says() {
    for (p, eighths) in all() {
        for (channels, chunk) in [(1, None), (3, None), (2, Some(Bytes(10_007)))] {
            let p = Collective { channels, chunk, ..p.clone() };
            let list = p.messages(8).unwrap();
            let sent: u64 = list.pieces().iter().map(|m| m.bytes).sum();
            // Exact byte counts, except that all-to-all leaves the own share of each rank.
            let is_exact = p.operation != Operation::AllToAll;
            let expected = if is_exact { eighths / 8 * 8_000_003 } else { 7 * 8_000_003 };
            assert_eq!(sent, expected, "{p:?}");
            if let Some(chunk) = chunk {
                assert!(list.pieces().iter().all(|m| m.bytes <= chunk.0 + 8), "{p:?}");
            }
        }
    }
}

/// Checks the vectors in the result of each rank, by share, if messages carry all data of their senders.
#[test]
fn every_rank_has_the_sum_of_all_vectors() {
    for algorithm in [Algorithm::Ring, Algorithm::HalvingDoubling, Algorithm::Hierarchical] {
        let group = (algorithm == Algorithm::Hierarchical).then_some(4);
        let p = Collective { group, ..params(Operation::AllReduce, algorithm, 64) };
        let n = 8;
        // The size of a share depends on its number, and message sizes identify their shares.
        let shares: Vec<Vec<usize>> = (0..n).map(|_| (0..n).collect()).collect();
        let mut has: Vec<Vec<u64>> = (0..n).map(|rank| vec![1 << rank; n]).collect();
        let (first, end) = p.steps(n);
        for step in first..end {
            let before = has.clone();
            for rank in 0..n {
                let brought = shares[rank].iter().filter(|s| brings(&p, n, step, rank, **s));
                let (to, _) = p.message(n, step, rank, 64);
                for s in brought {
                    has[to][*s] |= before[rank][*s];
                }
            }
        }
        assert!(has.iter().flatten().all(|sum| *sum == 255), "{algorithm:?}: {has:?}");
    }
}

/// True if a message carries a share: the message grows by a byte if only this share does.
fn brings(p: &Collective, n: usize, step: usize, rank: usize, wanted: usize) -> bool {
    let larger = |count: u64| p.message(n, step, rank, 8 * wide(n) + count).1;
    // A hierarchy cuts shares within shares: the bytes beyond a multiple go to the first shares of the
    // first cut.
    let order = |share: usize| match p.group {
        Some(g) => share % (n / g as usize) * g as usize + share / (n / g as usize),
        None => share,
    } as u64;
    larger(order(wanted) + 1) > larger(order(wanted))
}

#[test]
fn a_piece_goes_on_when_it_is_there() {
    for (p, _) in all() {
        let list = Collective { chunk: Some(Bytes(100_000)), ..p.clone() }.messages(8).unwrap();
        for (place, (piece, after)) in list.iter().enumerate() {
            assert!(piece.from != piece.to);
            for other in after.iter().map(|other| index(*other)) {
                assert!(other < place, "nothing waits in a circle");
                assert_eq!(list.pieces()[other].to, piece.from, "{p:?}");
                assert!(list.pieces()[other].step < piece.step, "{p:?}");
            }
        }
    }
}

#[test]
fn one_part_stands_for_all() {
    let mut even = 0;
    let gather = |algorithm| params(Operation::AllToAll, algorithm, 0);
    let others = [
        gather(Algorithm::Rounds),
        params(Operation::SendReceive, Algorithm::Direct, 0),
        Collective::barrier(),
    ];
    for p in all().into_iter().map(|(p, _)| p).chain(others) {
        for (size, channels, chunk) in
            [(8_000, 1, None), (24_000, 3, None), (16_000, 2, Some(Bytes(500))), (8_001, 1, None)]
        {
            let p = Collective { channels, chunk, size: Bytes(size), ..p.clone() };
            let pieces = p.check(8, |_| 1).unwrap();
            let parts = p.parts(8, pieces);
            let ranks = 8 + u32::from(p.algorithm == Algorithm::InNetwork);
            let listed = p.list(8, pieces, 1).sorted_by_key(|piece| piece.from);
            let whole = p.list(8, pieces, parts).sorted_by_key(|piece| piece.from).whole(ranks);
            assert!(whole.iter().eq(listed.iter()), "{p:?}");
            let shape = p.shape(8).unwrap();
            let all = Shape::new(ranks, p.clone(), listed);
            for rank in 0..ranks {
                assert_eq!((shape.sends(rank), shape.receives(rank)), (all.sends(rank), all.receives(rank)));
            }
            for place in 0..number(whole.len()) {
                assert_eq!((shape.piece(place), shape.needs(place)), (all.piece(place), all.needs(place)));
                assert_eq!(shape.run_of(place), all.run_of(place));
                assert!(shape.then(place).eq(all.then(place)), "{p:?}");
            }
            even += u32::from(parts > 1);
        }
    }
    assert_eq!(even, 29, "cases with several parts");
}

/// Returns the known ranks of each rank at the end, if each message carries all known ranks of the
/// sender.
fn known(messages: &Messages, n: usize) -> Vec<u64> {
    let places =
        messages.pieces().iter().flat_map(|m| [m.from, m.to]).max().map_or(n, |last| n.max(index(last) + 1));
    let mut knows: Vec<u64> = (0..places).map(|rank| 1 << rank).collect();
    let mut brought = vec![0; messages.len()];
    for (place, (piece, after)) in messages.iter().enumerate() {
        brought[place] = after.iter().fold(1 << piece.from, |sum, before| sum | brought[index(*before)]);
        knows[index(piece.to)] |= brought[place];
    }
    knows
}

#[test]
fn barriers_and_chains_reach_everybody() {
    for n in 2..40 {
        let all = (1 << n) - 1;
        assert!(known(&Collective::barrier().messages(n).unwrap(), n).iter().all(|k| *k == all), "{n}");
        let reduce = Collective::new(Operation::Reduce, Bytes(1000)).messages(n).unwrap();
        assert_eq!((reduce.len(), known(&reduce, n)[0]), (n - 1, all));
        let cast =
            Collective { chunk: Some(Bytes(300)), ..Collective::new(Operation::Broadcast, Bytes(1000)) };
        let cast = cast.messages(n).unwrap();
        assert_eq!(cast.len(), 4 * (n - 1));
        // Through a reducer, whose bit follows the bits of the ranks.
        for (operation, whose) in
            [(Operation::AllReduce, all), (Operation::Barrier, all), (Operation::Broadcast, 1)]
        {
            let of = known(&params(operation, Algorithm::InNetwork, 1000).messages(n).unwrap(), n);
            assert!(of[..n].iter().all(|k| k & whose == whose), "{n} {operation:?}: {of:?}");
        }
        assert_eq!(
            known(&params(Operation::Reduce, Algorithm::InNetwork, 1000).messages(n).unwrap(), n)[0] & all,
            all
        );
        assert!(known(&cast, n).iter().all(|k| k & 1 == 1));
    }
}

#[test]
fn trees_are_low_and_no_rank_is_inner_in_both() {
    for n in 2..=200 {
        let trees = [parents(n, 0), parents(n, 1)];
        for tree in &trees {
            assert_eq!(tree.iter().filter(|p| p.is_none()).count(), 1);
            for rank in 0..n {
                let way: Vec<_> = std::iter::successors(Some(rank), |at| tree[*at]).take(n + 1).collect();
                assert!(way.len() - 1 <= index(n.next_power_of_two().ilog2()), "{n}: {way:?}");
            }
            for rank in 0..n {
                assert!(tree.iter().filter(|p| **p == Some(rank)).count() <= 2);
            }
        }
        let is_inner = |tree: &[Option<usize>], rank| tree.contains(&Some(rank));
        assert!(
            n % 2 == 1 || (0..n).all(|rank| !(is_inner(&trees[0], rank) && is_inner(&trees[1], rank))),
            "{n}"
        );
    }
    // NCCL's trees of eight ranks: rank 0 above 4, rank 4 above 2 and 6, ranks 2 and 6 above the odd
    // ranks.
    let expected = [None, Some(2), Some(4), Some(2), Some(0), Some(6), Some(4), Some(6)];
    assert_eq!(parents(8, 0), expected);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let reduce = |algorithm| params(Operation::AllReduce, algorithm, 1000);
    let refused = |p: Collective, n: usize, what: &str| {
        let (key, why) = p.messages(n).unwrap_err();
        assert!(format!("{key}: {why}").starts_with(what), "{key}: {why}");
    };
    refused(reduce(Algorithm::Ring), 1, "hosts: a collective needs two ranks");
    refused(
        reduce(Algorithm::HalvingDoubling),
        6,
        "algorithm: halving and doubling needs a power of two of ranks",
    );
    refused(
        params(Operation::AllGather, Algorithm::DoubleTree, 1000),
        4,
        "algorithm: all_gather has no algorithm `double_tree`",
    );
    refused(reduce(Algorithm::Direct), 4, "algorithm: all_reduce has no algorithm `direct`");
    refused(reduce(Algorithm::Hierarchical), 4, "group: missing");
    for group in [0, 1, 3, 4] {
        refused(Collective { group: Some(group), ..reduce(Algorithm::Hierarchical) }, 4, "group: ");
    }
    refused(Collective { group: Some(2), ..reduce(Algorithm::Ring) }, 4, "group: `ring` has no groups");
    for channels in [0, 65] {
        refused(Collective { channels, ..reduce(Algorithm::Ring) }, 4, "channels: ");
    }
    refused(Collective { chunk: Some(Bytes(0)), ..reduce(Algorithm::Ring) }, 4, "chunk: 0 is out of range");
    refused(Collective { size: Bytes(7), ..reduce(Algorithm::Ring) }, 8, "size: 7B is too small");
    refused(
        Collective { size: Bytes(1 << 40), chunk: Some(Bytes(1)), ..reduce(Algorithm::Ring) },
        8,
        ": too many messages",
    );
}
