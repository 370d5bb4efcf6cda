//! Closed forms and published cell counts of buffers.

use xoff_units::Bytes;

use super::*;

const OUT: PortId = PortId(0);

fn of(total: u64) -> Shared {
    Shared::for_tests(total)
}

const fn share(alpha: f64, headroom: i64) -> Share {
    Share { alpha, reserve: 0, headroom, fills_pool: false }
}

#[test]
fn dynamic_threshold_settles_where_theory_says() {
    // n saturated groups each settle at alpha·B'/(1 + n·alpha), which leaves B'/(1 + n·alpha) free.
    for n in [1_usize, 2, 8] {
        let mut b = SharedBuffer::new(&of(1_000_000 + 8 * 10_000), 1, [share(0.125, 10_000); 8]);
        assert_eq!(b.pool(), 1_000_000);
        loop {
            let before = b.shared_used;
            for group in 0..n {
                if !b.is_over(group) {
                    assert!(b.admit(group, 100));
                }
            }
            if b.shared_used == before {
                break;
            }
        }
        let expected = 0.125 * 1e6 / (1.0 + n as f64 * 0.125);
        for group in 0..n {
            assert!(
                (b.main[group] as f64 - expected).abs() <= 200.0,
                "n {n}: {} against {expected}",
                b.main[group]
            );
        }
    }
}

#[test]
fn shares_of_the_pool_are_as_their_alphas() {
    // Saturated groups of alphas a and b settle at a·B'/(1 + a + b) and b·B'/(1 + a + b).
    let (a, b) = (0.25, 1.0);
    let mut buffer = SharedBuffer::new(&of(1_020_000), 1, [a, b].map(|alpha| share(alpha, 10_000)));
    // Who is beyond its share sends, and nobody else, until both are where they stay.
    for group in [0, 1].into_iter().cycle().take(40_000) {
        if buffer.main[group] > buffer.threshold(group) + 100 {
            buffer.release(group, OUT, 100);
        } else if !buffer.is_over(group) {
            assert!(buffer.admit(group, 100));
        }
    }
    for (group, alpha) in [(0, a), (1, b)] {
        let expected = alpha * 1e6 / (1.0 + a + b);
        assert!(
            (buffer.main[group] as f64 - expected).abs() <= 300.0,
            "{group}: {} against {expected}",
            buffer.main[group]
        );
    }
}

#[test]
fn there_is_room_for_what_would_be_admitted() {
    let shared = || {
        let group = Share { reserve: 1_000, ..share(0.5, 2_000) };
        Buffer::Shared(SharedBuffer::new(&of(20_000), 1, [group; 2]))
    };
    let per_ingress = |caps: &[u32]| Buffer::PerIngress { limit: 5_000, used: vec![0; 2], caps: caps.into() };
    let per_egress = |caps: &[u32]| Buffer::PerEgress { limit: 5_000, used: vec![0; 2], caps: caps.into() };
    let all = [
        shared(),
        per_ingress(&[]),
        per_egress(&[]),
        per_ingress(&[5_000, 1_500]),
        per_egress(&[5_000, 1_500]),
        Buffer::PerIngressClass(5_000),
        Buffer::PerEgressQueue(5_000),
        Buffer::Unlimited,
    ];
    for mut b in all {
        let mut admitted = 0;
        for n in 0..40_u32 {
            let (in_group, in_queue) = (n * 300, n * 200);
            let has_room = b.has_room(PortId(1), 1, PortId(0), in_group, in_queue, 700);
            assert_eq!(b.admit(PortId(1), 1, PortId(0), in_group, in_queue, 700), has_room, "{b:?}");
            admitted += usize::from(has_room);
        }
        assert!(admitted > 0 && (admitted < 40 || matches!(b, Buffer::Unlimited)), "{b:?}");
    }
}

#[test]
fn a_pool_of_headroom_serves_groups_until_it_is_full() {
    // Published cell counts of Tomahawk (sonic-mgmt, qos_params.th.yaml): a slice shares 13,071 cells, its
    // headroom pool has 5,041, alpha is 1, and a packet is one cell. Groups fill one after the other.
    for (groups, xoff, full, last) in [(10, 520, 520, 361), (8, 682, 682, 267), (4, 1292, 1292, 1165)] {
        let group = Share { reserve: 6, ..share(1.0, xoff) };
        let memory = Shared { headroom_pool: Some(Bytes(5041)), ..of(13_071 + 5041 + 6 * groups) };
        let mut b = SharedBuffer::new(&memory, 1, vec![group; groups as usize]);
        assert_eq!(b.pool(), 13_071);
        // All groups stand at the threshold: 6 + 13071/(1 + n) cells each, to the cell.
        let mut is_filling = true;
        while is_filling {
            is_filling = false;
            for g in 0..groups as usize {
                if !b.is_beyond(g, 1) {
                    assert!(b.admit(g, 1));
                    is_filling = true;
                }
            }
        }
        let at_threshold = 6 + 13_071 / (1 + groups as i64);
        assert!(b.main.iter().all(|held| (held - at_threshold).abs() <= 1), "{:?}", b.main);
        // Then each group takes its headroom, until the last finds the rest of the pool.
        for g in 0..groups as usize {
            while b.admit(g, 1) {}
        }
        let taken = &b.in_headroom;
        assert!(taken[..groups as usize - 1].iter().all(|held| *held == full), "{taken:?}");
        assert_eq!(*taken.last().unwrap(), last);
        assert_eq!(taken.iter().sum::<i64>(), 5041);
    }
}

#[test]
fn a_group_alone_is_paused_where_theory_says() {
    // One after another with alpha 1: the n-th group stands at r + B/2^n. Alone, the first pause comes with
    // cell 6 + 13071/2, rounded up.
    let group = Share { reserve: 6, ..share(1.0, 520) };
    let memory = Shared { headroom_pool: Some(Bytes(5041)), ..of(13_071 + 5041 + 6 * 3) };
    let mut b = SharedBuffer::new(&memory, 1, [group; 3]);
    for g in 0..3 {
        while !b.is_beyond(g, 1) {
            assert!(b.admit(g, 1));
        }
    }
    for (g, expected) in [(0, 6 + 13_071 / 2), (1, 6 + 13_071 / 4), (2, 6 + 13_071 / 8)] {
        assert!((b.main[g] - expected).abs() <= 1, "{:?}", b.main);
    }
    // The packet that crosses the threshold is number 6,542; with 520 cells of headroom number 7,063 is lost.
    assert_eq!(b.main[0], 6542);
    let mut more = 0;
    while b.admit(0, 1) {
        more += 1;
    }
    assert_eq!(more, 520);
}

#[test]
fn a_pause_ends_at_the_larger_of_two_levels() {
    // A pool of 13,071 cells, reserve 6, alpha 1: XOFF with cell 6,542. The threshold rises by each cell that
    // leaves: with an offset of 11 cells a pause ends after six cells, s + 11 <= 13071 - s.
    let offset = Resume { offset: Some(11), at: None };
    for (resume, left) in [
        (offset, 6536),
        (Resume { offset: None, at: Some(100) }, 100),
        (Resume { offset: Some(11), at: Some(100) }, 6536),
        (Resume { offset: Some(11), at: Some(6540) }, 6540),
    ] {
        let mut b = SharedBuffer::new(&of(13_071 + 6), 1, [Share { reserve: 6, ..share(1.0, 0) }]);
        while b.admit(0, 1) {}
        assert!(b.is_over(0));
        while !b.is_under(0, resume) {
            b.release(0, OUT, 1);
        }
        assert_eq!(b.main[0], left, "{resume:?}");
    }
}

#[test]
fn frames_take_whole_cells() {
    // 65 B in cells of 208 B: a memory of 100 cells holds 100 frames, and 320 without cells.
    for (cell, frames) in [(Some(Bytes(208)), 100), (None, 320)] {
        let memory = Shared { cell, ..of(2 * 100 * 208) };
        let mut b = Buffer::Shared(SharedBuffer::new(&memory, 1, [share(1.0, 0)]));
        let mut held = 0;
        while b.admit(PortId(0), 0, PortId(0), 0, 0, 65) {
            held += 1;
        }
        assert_eq!(held, frames);
        for _ in 0..held {
            b.release(PortId(0), 0, PortId(0), 65);
        }
        let Buffer::Shared(b) = b else { unreachable!() };
        assert_eq!((b.shared_used, b.main[0]), (0, 0));
    }
}

#[test]
fn a_pool_of_outputs_drops_before_the_headroom_is_full() {
    // Published cell counts of a Trident 3 (sonic-buildimage, pull request 21320): inputs admit 118,212 shared
    // cells, 1,440 of reserves and 8,040 of the headroom pool, 127,692 together. The egress pool has 126,332:
    // the first drop comes with cell 126,333, before the headroom is full.
    let groups = 80;
    let group = Share { reserve: 18, ..share(1.0, 625) };
    let egress = |cells| Egress { classes: None, total: Bytes(cells), limit: None, alpha: None };
    for (cells, least, most) in [(126_332, 126_332, 126_332), (127_692, 127_600, 127_692)] {
        let memory = Shared { headroom_pool: Some(Bytes(8040)), egress: vec![egress(cells)], ..of(127_692) };
        let mut b = SharedBuffer::new(&memory, 1, vec![group; groups]);
        assert_eq!(b.pool(), 118_212);
        let mut taken = 0;
        let mut is_filling = true;
        while is_filling {
            is_filling = false;
            for g in 0..groups {
                while b.admit_to(g, OUT, 1) {
                    taken += 1;
                    is_filling = true;
                }
            }
        }
        assert!((least..=most).contains(&taken), "{taken}");
        assert_eq!(b.outputs.as_ref().map(|outputs| outputs.used(0)), Some(taken));
    }
}

#[test]
fn groups_of_classes_have_their_own_alpha() {
    // Alone at B/2 with alpha 1, and at B/3 with alpha ½.
    let memory = Shared {
        groups: vec![Group {
            classes: vec![1],
            alpha: Some(0.5),
            reserve: Some(Bytes(60)),
            headroom: None,
            together: false,
        }],
        ..of(12_000)
    };
    assert_eq!(memory.of_class(0), (1.0, Bytes(0), None));
    assert_eq!(memory.of_class(1), (0.5, Bytes(60), None));
    let shares = [0, 1].map(|class| {
        let (alpha, reserve, _) = memory.of_class(class);
        Share { reserve: reserve.0 as i64, ..share(alpha, 0) }
    });
    let b = SharedBuffer::new(&memory, 2, shares);
    assert_eq!((b.alone(0).0, b.alone(1).0), (11_940 / 2, 60 + 11_940 / 3));
}

#[test]
fn classes_of_a_group_count_together() {
    // Alpha 1: alone at B/2, whichever classes hold the bytes; class 0 beside it takes half of the rest.
    let group = Group {
        classes: vec![2, 1],
        alpha: None,
        reserve: Some(Bytes(60)),
        headroom: Some(Bytes(300)),
        together: true,
    };
    let memory = Shared { groups: vec![group], ..of(12_000 + 2 * 360) };
    assert_eq!(memory.counted_with(2), [1, 2]);
    assert_eq!(memory.counted_with(0), [0]);
    let of_group = Share { reserve: 60, ..share(1.0, 300) };
    let shares = [share(1.0, 0), of_group, share(1.0, 0)];
    let mut b = SharedBuffer::new(&memory, 3, [shares, shares].concat());
    assert_eq!((b.pool(), b.kept()), (12_000, (120, 600)));
    assert_eq!([b.alone(4).0, b.alone(5).0], [6_060, 6_060]);
    assert_eq!((b.together(5).collect::<Vec<_>>(), b.together(3).collect::<Vec<_>>()), (vec![1, 2], vec![0]));
    // Port 1: classes 1 and 2 in turn take 60 + 6,000 together, and then 300 of headroom.
    let mut taken = [0, 0];
    for n in 0.. {
        if !b.admit(4 + n % 2, 1) {
            break;
        }
        taken[n % 2] += 1;
    }
    assert_eq!(taken, [3_180, 3_180]);
    assert!(b.is_over(4) && b.is_over(5) && !b.is_over(3) && !b.is_over(1));
    // Bytes of class 2 that leave make room for class 1.
    (0..3_180).for_each(|_| b.release(5, OUT, 1));
    assert!(!b.is_over(4) && b.admit(4, 1));
    b.release(4, OUT, 1);
    (0..3_180).for_each(|_| b.release(4, OUT, 1));
    assert_eq!((b.shared_used, b.main.iter().sum::<i64>(), b.headroom_used), (0, 0, 0));
}

#[test]
fn a_limit_at_an_output_counts_cells() {
    // Frames of 65 B in cells of 208 B: a limit of 100 cells holds 100 frames, not 320.
    let egress = Egress { classes: None, total: Bytes(1 << 20), limit: Some(Bytes(20_800)), alpha: None };
    let memory = Shared { cell: Some(Bytes(208)), egress: vec![egress], ..of(1 << 20) };
    let mut b = Buffer::Shared(SharedBuffer::new(&memory, 1, [share(8.0, 0); 2]));
    let mut held = 0;
    while b.admit(PortId(1), 1, OUT, 65 * held, 65 * held, 65) {
        held += 1;
    }
    assert_eq!(held, 100);
    // Another output has its own count.
    assert!(b.has_room(PortId(1), 1, PortId(1), 65 * held, 0, 65));
    b.release(PortId(1), 1, OUT, 65);
    assert!(b.has_room(PortId(1), 1, OUT, 65 * held, 65 * held, 65));
}

#[test]
fn a_queue_has_a_limit_at_its_output() {
    let pool = |limit, alpha| Egress { classes: Some(vec![1]), total: Bytes(1000), limit, alpha };
    for (egress, most) in [
        (pool(Some(Bytes(300)), None), 300),
        (pool(None, Some(1.0)), 500),
        (pool(None, Some(0.5)), 333),
        (pool(None, None), 1000),
    ] {
        let memory = Shared { egress: vec![egress], ..of(1 << 20) };
        let mut b = SharedBuffer::new(&memory, 2, [share(8.0, 0); 2]);
        let mut held = 0;
        while b.admit_to(1, OUT, 1) {
            held += 1;
        }
        // With x bytes of a queue alone x <= alpha·(1000 - x) holds up to 1000·alpha/(1 + alpha).
        assert!(u32::abs_diff(held, most) <= 1, "{held} for {most}");
        // Another class has no pool.
        assert!((0..2000).all(|_| b.admit_to(0, OUT, 1)));
        (0..held).for_each(|_| b.release(1, OUT, 1));
        (0..2000).for_each(|_| b.release(0, OUT, 1));
        assert_eq!((b.outputs.as_ref().map(|outputs| outputs.used(0)), b.shared_used), (Some(0), 0));
    }
}

#[test]
fn headroom_is_used_past_the_threshold_and_everything_returns() {
    let mut b = SharedBuffer::new(&of(10_000), 1, [share(1.0, 2_000)]);
    let mut admitted = 0;
    while b.admit(0, 1_000) {
        admitted += 1;
    }
    // The pool of 8000 is shared with itself: at alpha 1 half of it, then two packets of headroom.
    assert_eq!(admitted, 6);
    assert!(b.is_over(0) && !b.is_under(0, Resume { offset: Some(0), at: None }));
    for _ in 0..admitted {
        b.release(0, OUT, 1_000);
    }
    assert_eq!((b.shared_used, b.main[0], b.in_headroom[0]), (0, 0, 0));
    // What was used stays known: half of the pool, and the whole headroom.
    assert_eq!((b.pool_peak(), b.headroom_peak(0)), (4_000, (2_000, 2_000)));
}

#[test]
fn a_class_that_pauses_at_a_level_of_its_own_may_fill_the_pool() {
    // Alpha 1/8: a lossy class alone drops at B/9, and a lossless class at B, whatever the lossy class holds.
    let lossless = Share { fills_pool: true, ..share(0.125, 0) };
    let mut b = SharedBuffer::new(&of(9_000), 2, [share(0.125, 0), lossless]);
    assert_eq!((b.alone(0).0, b.alone(1).0), (1_000, 9_000));
    let fill = |b: &mut SharedBuffer, group| (0..20_000).take_while(|_| b.admit(group, 1)).count();
    assert_eq!(fill(&mut b, 0), 1_000);
    assert_eq!(fill(&mut b, 1), 8_000);
    assert_eq!((b.shared_used, fill(&mut b, 0)), (9_000, 0));
    // What the lossy class gives back is free for both.
    (0..500).for_each(|_| b.release(0, OUT, 1));
    assert_eq!(fill(&mut b, 1), 500);
}

#[test]
fn a_class_that_fills_the_pool_has_its_reserve_and_headroom() {
    let group = Share { reserve: 100, fills_pool: true, ..share(0.125, 40) };
    let mut b = SharedBuffer::new(&of(1_000 + 140), 1, [group]);
    assert_eq!((b.pool(), b.alone(0)), (1_000, (1_100, 40)));
    // A packet across the end of the reserve takes the rest from the pool.
    let taken = (0..20_000).take_while(|_| b.admit(0, 30)).count();
    assert_eq!((taken, b.main[0], b.in_headroom[0]), (36 + 1, 1_080, 30));
    (0..taken).for_each(|_| b.release(0, OUT, 30));
    assert_eq!((b.shared_used, b.main[0], b.headroom_used), (0, 0, 0));
}
