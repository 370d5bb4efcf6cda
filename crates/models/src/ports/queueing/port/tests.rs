use super::*;
use crate::frames::kinds::Kind;

const PFC: Cause = Cause(0);

fn port(data: &[(u8, u8)], turns: Turns) -> Port {
    let data =
        data.iter().map(|&(class, level)| QueueSpec { class, level, purpose: Purpose::Class }).collect();
    Port::new(&QueuePlan { data, turns }, Rate::gbps(100), Duration::ns(1), 0, Duration::ZERO)
}

fn drain(port: &mut Port, n: usize) -> Vec<u16> {
    let mut order = Vec::new();
    for _ in 0..n {
        let Some(Choice::Packet(q)) = port.select() else { break };
        port.pop(q);
        order.push(q.0);
    }
    order
}

#[test]
fn data_has_a_turn_beside_control_where_it_is_given_one() {
    let order = |turns: u8, is_blocked: bool| {
        let mut p = port(&[(0, 0)], Turns::Packets);
        p.control_turns = turns;
        let frame = |kind| Packet::new(kind, 1, 0, 0, 64, 0);
        for _ in 0..6 {
            p.push(QueueId(0), frame(Kind::Header));
        }
        p.push(QueueId(1), frame(Kind::Data));
        p.push(QueueId(1), frame(Kind::Data));
        if is_blocked {
            p.block(QueueId(1), PFC);
        }
        drain(&mut p, 8)
    };
    assert_eq!(order(0, false), [0, 0, 0, 0, 0, 0, 1, 1]);
    assert_eq!(order(2, false), [0, 0, 1, 0, 0, 1, 0, 0]);
    assert_eq!(order(4, false), [0, 0, 0, 0, 1, 0, 0, 1]);
    assert_eq!(order(2, true), [0; 6]);
}

#[test]
fn a_supplier_moves_from_a_queue_that_is_blocked_to_one_that_is_not() {
    let mut p = port(&[(0, 0), (1, 0)], Turns::Packets);
    for supplier in [7, 8] {
        p.push_supplier(QueueId(1), supplier);
    }
    p.block(QueueId(1), PFC);
    assert_eq!(p.select(), None);
    p.move_supplier(8, QueueId(1), QueueId(2));
    assert_eq!(
        (p.waiting, p.select(), p.pop_supplier(QueueId(2))),
        (2, Some(Choice::Supplier(QueueId(2))), Some(8))
    );
    // One whose frame is on the wire waits there when it has ended, and one that waits nowhere stays so.
    p.push_supplier_after(QueueId(2), 8);
    p.move_supplier(8, QueueId(2), QueueId(1));
    p.move_supplier(9, QueueId(1), QueueId(2));
    p.end_frame();
    p.unblock(QueueId(1), PFC);
    let order: Vec<_> = (0..2).map(|_| (p.select(), p.pop_supplier(QueueId(1)))).collect();
    assert_eq!(
        order,
        [(Some(Choice::Supplier(QueueId(1))), Some(7)), (Some(Choice::Supplier(QueueId(1))), Some(8))]
    );
    assert_eq!((p.waiting, p.select()), (0, None));
}

#[test]
fn control_first_then_levels_then_turns() {
    let mut p = port(&[(0, 0), (1, 1), (2, 1)], Turns::Packets);
    for q in [2, 3, 1, 2, 3, 0] {
        p.push(QueueId(q), Packet::new(Kind::Data, 0, 0, 0, 100, 0));
    }
    assert_eq!(drain(&mut p, 9), [0, 1, 2, 3, 2, 3]);
    assert_eq!(p.waiting, 0);
}

#[test]
fn deficit_round_robin_shares_bytes() {
    let mut p = port(&[(0, 0), (1, 0)], Turns::Bytes([1500; MAX_CLASSES]));
    for _ in 0..1000 {
        p.push(QueueId(1), Packet::new(Kind::Data, 0, 0, 0, 1500, 0));
        p.push(QueueId(2), Packet::new(Kind::Data, 0, 0, 0, 300, 0));
    }
    let order = drain(&mut p, 600);
    let (big, small) = (order.iter().filter(|q| **q == 1).count(), order.iter().filter(|q| **q == 2).count());
    assert_eq!((big, small), (100, 500));
}

#[test]
fn weighted_classes_send_their_quanta_each_round() {
    // 14 and 15 frames of 1000 B a round: a strict class goes before both.
    let mut quanta = [1_000; MAX_CLASSES];
    (quanta[0], quanta[1]) = (14_000, 15_000);
    let mut p = port(&[(0, 1), (1, 1), (2, 0)], Turns::Bytes(quanta));
    for queue in [1, 2] {
        for seq in 0..100 {
            p.push(QueueId(queue), Packet::new(Kind::Data, 1, 0, seq, 1_000, 0));
        }
    }
    let round: Vec<u16> = std::iter::repeat_n(1, 14).chain(std::iter::repeat_n(2, 15)).collect();
    assert_eq!(drain(&mut p, 58), [round.clone(), round].concat());
    p.push(QueueId(3), Packet::new(Kind::Data, 1, 0, 0, 1_000, 0));
    assert_eq!(drain(&mut p, 2), [3, 1]);
}

#[test]
fn an_emptied_class_leaves_the_round_immediately_and_joins_at_the_end() {
    let quanta = [1_000; MAX_CLASSES];
    // Packets of several queues, suppliers of a host, and bytes. Class 0 has sent its only packet, so class 1, which waits
    // by the time of the next packet of class 0, goes first.
    for turns in [Turns::Packets, Turns::Suppliers, Turns::Bytes(quanta)] {
        let mut p = port(&[(0, 0), (0, 0), (1, 0)], turns);
        p.push(QueueId(2), Packet::new(Kind::Data, 1, 0, 0, 1_000, 0));
        assert_eq!(drain(&mut p, 1), [2]);
        for queue in [3, 2, 1] {
            p.push(QueueId(queue), Packet::new(Kind::Data, 1, 0, 0, 1_000, 0));
        }
        assert_eq!(drain(&mut p, 3), [3, 2, 1], "{turns:?}");
    }
    // The flow of class 0 has a frame in transmission. A flow of class 1 that starts meanwhile goes first.
    let mut p = port(&[(0, 0), (1, 0)], Turns::Suppliers);
    p.push_supplier(QueueId(1), 7);
    assert_eq!((p.select(), p.pop_supplier(QueueId(1))), (Some(Choice::Supplier(QueueId(1))), Some(7)));
    p.push_supplier_after(QueueId(1), 7);
    p.push_supplier(QueueId(2), 8);
    p.end_frame();
    assert_eq!((p.select(), p.pop_supplier(QueueId(2))), (Some(Choice::Supplier(QueueId(2))), Some(8)));
}

#[test]
fn a_pause_takes_a_class_out_of_the_round() {
    // The deficit is lost.
    let mut p = port(&[(0, 0), (1, 0)], Turns::Bytes([1_500; MAX_CLASSES]));
    for queue in [1, 1, 1, 1, 2, 2, 2, 2] {
        p.push(QueueId(queue), Packet::new(Kind::Data, 1, 0, 0, 1_000, 0));
    }
    assert_eq!(drain(&mut p, 2), [1, 2]);
    p.block(QueueId(1), PFC);
    p.unblock(QueueId(1), PFC);
    assert_eq!(drain(&mut p, 4), [2, 2, 1, 2]);
}

#[test]
fn classes_share_alike_however_many_queues_they_have() {
    // Three queues of class 0, one for each input, beside one of class 1.
    for (turns, sizes) in [(Turns::Packets, [500, 500]), (Turns::Bytes([1500; MAX_CLASSES]), [1500, 300])] {
        let mut p = port(&[(0, 0), (0, 0), (0, 0), (1, 0)], turns);
        for queue in 1..=4 {
            for _ in 0..2000 {
                p.push(QueueId(queue), Packet::new(Kind::Data, 0, 0, 0, sizes[usize::from(queue == 4)], 0));
            }
        }
        let order = drain(&mut p, 600);
        let sent: Vec<usize> = (1..=4).map(|queue| order.iter().filter(|q| **q == queue).count()).collect();
        let (first, second) = if turns == Turns::Packets { (100, 300) } else { (33, 500) };
        assert!(sent[..3].iter().all(|count| count.abs_diff(first) <= 1), "{sent:?}");
        assert!(sent[3].abs_diff(second) <= 2, "{sent:?}");
    }
}

#[test]
fn a_class_whose_queues_are_blocked_gives_its_turns_away() {
    let mut p = port(&[(0, 0), (0, 0), (1, 0)], Turns::Packets);
    for queue in [1, 1, 1, 2, 2, 2, 3, 3, 3] {
        p.push(QueueId(queue), Packet::new(Kind::Data, 0, 0, 0, 100, 0));
    }
    assert_eq!(drain(&mut p, 2), [1, 3]);
    p.block(QueueId(1), PFC);
    assert_eq!(drain(&mut p, 3), [2, 3, 2]);
    p.block(QueueId(2), PFC);
    assert_eq!(drain(&mut p, 2), [3]);
    p.unblock(QueueId(1), PFC);
    p.unblock(QueueId(2), PFC);
    assert_eq!(drain(&mut p, 9), [1, 2, 1]);
    assert_eq!(p.waiting, 0);
}

#[test]
fn causes_do_not_clear_one_another_and_blocked_queues_wait() {
    let mut p = port(&[(0, 0), (1, 0)], Turns::Packets);
    assert!(p.block(QueueId(1), PFC));
    assert!(!p.block(QueueId(1), PFC));
    p.push(QueueId(1), Packet::default());
    assert_eq!(p.select(), None);
    p.push(QueueId(2), Packet::default());
    assert_eq!(drain(&mut p, 2), [2]);
    assert!(p.unblock(QueueId(1), PFC));
    assert!(!p.unblock(QueueId(1), PFC));
    assert_eq!(drain(&mut p, 2), [1]);
}
