use xoff_units::{Duration, Moment, Rate, number, wide};

use super::*;
use crate::frames::framing::Framing;
use crate::frames::kinds::Kind;
use crate::frames::packet::Packet;
use crate::frames::packet_metadata::Records;
use crate::frames::token;
use crate::hosts::congestion_control::contract::{Form, Line};
use crate::hosts::congestion_control::{CongestionControl, Scheme, dcqcn, hpcc};
use crate::hosts::transport::{Protocol, Table, raw};
use crate::parts::ids::{PortId, QueueId};
use crate::paths::routing::Sources;
use crate::ports::effects::{Effect, Effects};
use crate::records::delays::Wait;

const RTO: Duration = Duration::ms(4);
/// What a full packet takes at 100 Gb/s.
const FULL: Duration = Duration::ns(100);

/// Host 0 with flows 0 to 99; those of host 1 have the next hundred numbers.
fn host(transport: &Table, control: &CongestionControl, waiting: Vec<(Vec<u32>, FlowSpec)>) -> Endpoint {
    let line = Line::for_tests(Duration::ns(200));
    let config = Config {
        framing: Framing::for_tests(),
        transport: Protocol::new(transport, line),
        schemes: Schemes::new(vec![vec![Scheme::new(control, line)]], [0; 8], None),
        pulls: None,
        loses_frames: false,
        classify: Classify::default(),
        jitter: None,
        sources: Arc::new(Sources { first: vec![0, 100, 200, 200], ..Sources::default() }),
        bottlenecks: Bottlenecks::default().leaving_by(vec![line.rate]),
    };
    Endpoint::new(0, Arc::new(config), None, Vec::new(), waiting)
}

fn plain() -> Endpoint {
    host(&Table::default(), &CongestionControl::default(), Vec::new())
}

/// With HPCC, which has a window of 2500 bytes: what 100 Gb/s carry in 200 ns.
fn windowed() -> Endpoint {
    let control = CongestionControl { hpcc: Some(hpcc::Params::default()), ..CongestionControl::default() };
    host(&Table::default(), &control, Vec::new())
}

fn spec(flow: u32, size: u64) -> FlowSpec {
    FlowSpec { flow, dst: 2, size, start: Moment::ZERO, path: 0, class: 1 }
}

/// Starts a flow in queue 2 of port 0.
fn start(e: &mut Endpoint, flow: u32, size: u64, now: Moment) -> u32 {
    e.start(&spec(flow, size), PortId(0), QueueId(2), &mut effects(now)).0
}

fn effects(now: Moment) -> Effects {
    let mut effects = Effects::for_tests(1);
    effects.now = now;
    effects
}

/// A flow's turn, and when first timeouts are looked at for it.
fn turn(e: &mut Endpoint, slot: u32, now: Moment) -> (Turn, Option<Moment>) {
    let mut effects = effects(now);
    let turn = e.turn(slot, |bytes| Rate::gbps(100).time(u64::from(bytes)), &mut effects);
    (turn, alarm(&mut effects, token::FIRST_RTO))
}

/// When a timer of this kind was set.
fn alarm(effects: &mut Effects, kind: u64) -> Option<Moment> {
    effects.take().iter().find_map(|(_, effect)| match effect {
        Effect::Alarm(of, at, _) if *of == kind => Some(*at),
        _ => None,
    })
}

/// The flow whose first timeout is due, or when to look again.
fn next_timeout(e: &mut Endpoint, now: Moment) -> (Option<u32>, Option<Moment>) {
    let mut effects = effects(now);
    (e.next_timeout(&mut effects), alarm(&mut effects, token::FIRST_RTO))
}

/// When to look at a timeout again, and whether the flow went back.
fn on_rto(e: &mut Endpoint, flow: u32, now: Moment) -> (Option<Moment>, bool) {
    let mut effects = effects(now);
    let went_back = e.on_rto(flow, &mut effects);
    (alarm(&mut effects, token::RTO), went_back)
}

/// What a data packet leads to, its answer first.
fn on_data(e: &mut Endpoint, packet: &Packet, now: Moment) -> Vec<Effect> {
    let mut effects = effects(now);
    let answer = e.on_data(packet, &mut Records::default(), &mut effects).map(Effect::Answer);
    answer.into_iter().chain(effects.take().into_iter().map(|(_, effect)| effect)).collect()
}

fn answers(effects: &[Effect]) -> Vec<Packet> {
    effects
        .iter()
        .filter_map(|effect| if let Effect::Answer(frame) = effect { Some(*frame) } else { None })
        .collect()
}

/// The packets of a flow's turns, one each time the line is free, until it leaves the round.
fn drain(e: &mut Endpoint, slot: u32, from: Moment) -> Vec<u32> {
    let mut sent = Vec::new();
    loop {
        match turn(e, slot, from + FULL * wide(sent.len())).0 {
            Turn::Send(packet) => sent.push(packet.seq()),
            Turn::SendAndLeave(packet) => {
                sent.push(packet.seq());
                return sent;
            }
            Turn::Leave => return sent,
            Turn::SendThenWait(..) => panic!("nothing paces it"),
        }
    }
}

fn answer(kind: Kind, flow: u32, seq: u32) -> Packet {
    Packet::new(kind, flow, seq, 0, 125, 1)
}

fn data(flow: u32, seq: u32, is_last: bool) -> Packet {
    let mut packet = Packet::new(Kind::Data, flow, seq, 0, 1250, 1);
    if is_last {
        packet.set(Packet::LAST);
    }
    packet
}

#[test]
fn a_flow_makes_a_packet_a_turn_and_leaves_with_its_last() {
    // 2500 bytes are two full packets and one of 500 and its header.
    let mut e = plain();
    let slot = start(&mut e, 7, 2500, Moment::ZERO);
    let mut seen = Vec::new();
    for n in 0..4 {
        let (turn, _) = turn(&mut e, slot, Moment::ZERO + FULL * n);
        let (is_listed, packet) = match turn {
            Turn::Send(packet) => (true, Some(packet)),
            Turn::SendAndLeave(packet) => (false, Some(packet)),
            Turn::Leave => (false, None),
            Turn::SendThenWait(..) => panic!("nothing paces it"),
        };
        seen.push((is_listed, packet.map(|p| (p.seq(), p.bytes(), p.class(), p.dst(), p.has(Packet::LAST)))));
    }
    let packet = |seq, bytes, is_last| Some((seq, bytes, 1, 2, is_last));
    let expected = [
        (true, packet(0, 1250, false)),
        (true, packet(1, 1250, false)),
        (false, packet(2, 750, true)),
        (false, None),
    ];
    assert_eq!(seen, expected);
    assert_eq!(
        (e.injected_bytes, e.is_quiet(), e.requeue(7, Moment::ZERO + RTO)),
        (3250, false, Requeue::No)
    );
}

#[test]
fn a_flow_that_is_slower_than_its_line_waits_for_its_pace() {
    // Its rate gives a packet 100 ns; this line is free after 50.
    let mut e = windowed();
    let slot = start(&mut e, 7, 5000, Moment::ZERO);
    let Turn::SendThenWait(_, at) = e.turn(slot, |_| Duration::ns(50), &mut effects(Moment::ZERO)) else {
        panic!("it does not wait")
    };
    assert_eq!(at, Moment::ZERO + FULL);
    assert_eq!(e.requeue(7, Moment::ns(60)), Requeue::No, "its timer is set");
    assert_eq!(e.requeue(7, Moment::ZERO + FULL), Requeue::Now { slot, port: PortId(0), queue: QueueId(2) });
    assert_eq!(e.requeue(7, Moment::ZERO + FULL), Requeue::No, "it is listed");
    // A flow that cannot send leaves; with the timer gone it asks for one of its own.
    let Turn::SendThenWait(_, at) = e.turn(slot, |_| Duration::ns(50), &mut effects(Moment::ZERO + FULL))
    else {
        panic!("it does not wait")
    };
    assert_eq!(at, Moment::ZERO + FULL * 2);
    e.on_pace(7, Moment::ns(150));
    assert_eq!(e.requeue(7, Moment::ns(150)), Requeue::No, "the timer was not that of this packet");
    e.on_pace(7, Moment::ZERO + FULL * 2);
    e.on_answer(&answer(Kind::Nack, 7, 0), None, &mut effects(Moment::ns(150)));
    assert_eq!(e.requeue(7, Moment::ns(150)), Requeue::At(Moment::ZERO + FULL * 2));
}

#[test]
fn a_window_lets_packets_go_until_it_is_full() {
    // Under way may be 2500 bytes: a packet goes while fewer are, so that three do.
    let mut e = windowed();
    let slot = start(&mut e, 7, 9000, Moment::ZERO);
    assert_eq!(drain(&mut e, slot, Moment::ZERO), [0, 1, 2]);
    assert_eq!(e.requeue(7, Moment::us(1)), Requeue::No);
    assert!(e.on_answer(&answer(Kind::Ack, 7, 2), None, &mut effects(Moment::us(1))));
    assert_eq!(e.requeue(7, Moment::us(1)), Requeue::Now { slot, port: PortId(0), queue: QueueId(2) });
    assert_eq!(drain(&mut e, slot, Moment::us(1)), [3, 4]);
    // What was let go before may be sent again, however full the window.
    e.on_answer(&answer(Kind::Nack, 7, 2), None, &mut effects(Moment::us(2)));
    e.requeue(7, Moment::us(2));
    assert_eq!(drain(&mut e, slot, Moment::us(2)), [2, 3, 4]);
    assert_eq!(e.unfinished(Moment::NEVER)[0].retransmitted, 3);
}

#[test]
fn an_answer_tells_the_round_trip_of_the_packet_that_it_answers() {
    let mut e = windowed();
    let slot = start(&mut e, 7, 9000, Moment::ZERO);
    assert_eq!(drain(&mut e, slot, Moment::ZERO), [0, 1, 2]);
    e.on_answer(&answer(Kind::Ack, 7, 1), None, &mut effects(Moment::us(1)));
    // Packet 0 went with its answer. Packet 2 started at 200 ns.
    let mut stamps = e.senders[index(slot)].as_mut().and_then(|s| s.stamps.take()).unwrap();
    assert_eq!(stamps.on_answer(0, 0, 1, Moment::us(1)), None);
    assert_eq!(stamps.on_answer(2, 0, 3, Moment::us(1)), Some(Duration::ns(800)));
    // A flow whose congestion control hears nothing keeps no times.
    let mut e = plain();
    let slot = start(&mut e, 7, 1000, Moment::ZERO);
    assert!(e.senders[index(slot)].as_ref().is_some_and(|s| s.stamps.is_none()));
}

#[test]
fn the_latest_hold_counts_until_it_is_released() {
    let mut e = plain();
    let slot = start(&mut e, 7, 9000, Moment::ZERO);
    assert_eq!(e.hold(7, Moment::us(10), "sfc", Moment::us(1)), Some(Moment::us(10)));
    assert_eq!(e.hold(7, Moment::us(5), "sfc", Moment::us(2)), None);
    assert_eq!(e.hold(7, Moment::us(12), "sfc", Moment::us(3)), Some(Moment::us(12)));
    assert!(matches!(turn(&mut e, slot, Moment::us(3)).0, Turn::Leave));
    assert_eq!(e.requeue(7, Moment::us(10)), Requeue::No);
    // From 1 to 12 us; a release at 4 us gives eight of them back.
    let [held] = e.unfinished(Moment::NEVER)[..] else { panic!("one flow is under way") };
    assert_eq!((held.holds, held.paused), (3, Duration::us(11)));
    e.release(7, Moment::us(4));
    e.release(7, Moment::us(5));
    assert_eq!(e.unfinished(Moment::NEVER)[0].paused, Duration::us(3));
    assert_eq!(e.requeue(7, Moment::us(4)), Requeue::Now { slot, port: PortId(0), queue: QueueId(2) });
    assert!(matches!(turn(&mut e, slot, Moment::us(4)).0, Turn::Send(_)));
}

#[test]
fn a_hold_of_a_flow_that_is_over_came_too_late() {
    let mut e = plain();
    let slot = start(&mut e, 7, 1000, Moment::ZERO);
    drain(&mut e, slot, Moment::ZERO);
    e.on_answer(&answer(Kind::Ack, 7, 1), None, &mut effects(Moment::us(1)));
    assert_eq!(e.hold(7, Moment::us(9), "sfc", Moment::us(2)), None);
    assert_eq!(e.hold(8, Moment::us(9), "sfc", Moment::us(2)), None, "it has not started");
    assert!(e.hold_destination(2, Moment::us(9), "portfc", Moment::us(2)).is_empty());
    assert_eq!(e.late_holds, BTreeMap::from([("portfc", 1), ("sfc", 2)]));
}

#[test]
fn a_hold_that_outlives_its_flow_counts_to_the_last_answer() {
    // Held from 1 to 10 us, and over at 3 us.
    let mut e = plain();
    let slot = start(&mut e, 7, 1000, Moment::ZERO);
    drain(&mut e, slot, Moment::ZERO);
    assert_eq!(e.hold(7, Moment::us(10), "sfc", Moment::us(1)), Some(Moment::us(10)));
    e.on_answer(&answer(Kind::Ack, 7, 1), None, &mut effects(Moment::us(3)));
    assert_eq!((e.sent[0].holds, e.sent[0].paused), (1, Duration::us(2)));
}

#[test]
fn a_destination_is_held_for_flows_now_and_to_come() {
    let mut e = plain();
    start(&mut e, 7, 1000, Moment::ZERO);
    e.start(&FlowSpec { dst: 1, ..spec(8, 1000) }, PortId(0), QueueId(2), &mut effects(Moment::ZERO));
    assert_eq!(e.hold_destination(2, Moment::us(10), "sfc", Moment::us(1)), [7]);
    let (late, until) = e.start(&spec(9, 1000), PortId(0), QueueId(2), &mut effects(Moment::us(4)));
    assert_eq!(until, Some(Moment::us(10)));
    assert!(matches!(turn(&mut e, late, Moment::us(4)).0, Turn::Leave));
    let paused: Vec<Duration> = e.unfinished(Moment::NEVER).iter().map(|s| s.paused).collect();
    assert_eq!(paused, [Duration::us(9), Duration::ZERO, Duration::us(6)]);
    // A moment that has come ends it, for all that go there.
    assert_eq!(e.hold_destination(2, Moment::us(6), "sfc", Moment::us(6)), [7, 9]);
    assert_eq!(e.requeue(9, Moment::us(6)), Requeue::Now { slot: late, port: PortId(0), queue: QueueId(2) });
    assert_eq!(e.start(&spec(10, 1000), PortId(0), QueueId(2), &mut effects(Moment::us(7))).1, None);
}

#[test]
fn first_timeouts_share_a_timer_and_come_in_order() {
    let mut e = plain();
    let mut timers = Vec::new();
    for flow in 0..4 {
        let now = Moment::ZERO + FULL * u64::from(flow);
        let slot = start(&mut e, flow, 1000, now);
        timers.push(turn(&mut e, slot, now).1);
    }
    assert_eq!(timers, [Some(Moment::ZERO + RTO), None, None, None]);
    // Flow 1 is over by then, so that nobody wakes for it.
    e.on_answer(&answer(Kind::Ack, 1, 1), None, &mut effects(Moment::us(1)));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO - Duration::ns(1)), (None, Some(Moment::ZERO + RTO)));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO), (Some(0), None));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO), (None, Some(Moment::ZERO + RTO + FULL * 2)));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO + FULL * 3), (Some(2), None));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO + FULL * 3), (Some(3), None));
    assert_eq!(next_timeout(&mut e, Moment::ZERO + RTO + FULL * 3), (None, None));
}

#[test]
fn a_timeout_restarts_with_each_packet_and_sends_from_the_oldest_again() {
    let mut e = plain();
    let slot = start(&mut e, 7, 2000, Moment::ZERO);
    assert_eq!(drain(&mut e, slot, Moment::ZERO), [0, 1]);
    // The last packet left after 100 ns, which moved the deadline.
    assert_eq!(on_rto(&mut e, 7, Moment::ZERO + RTO), (Some(Moment::ZERO + RTO + FULL), false));
    assert_eq!(on_rto(&mut e, 7, Moment::ZERO + RTO + FULL), (Some(Moment::ZERO + RTO * 2 + FULL), true));
    assert_eq!(
        e.requeue(7, Moment::ZERO + RTO + FULL),
        Requeue::Now { slot, port: PortId(0), queue: QueueId(2) }
    );
    assert_eq!(drain(&mut e, slot, Moment::ZERO + RTO + FULL), [0, 1]);
    e.on_answer(&answer(Kind::Ack, 7, 2), None, &mut effects(Moment::ZERO + RTO + Duration::us(1)));
    assert_eq!(on_rto(&mut e, 7, Moment::ZERO + RTO * 2 + FULL), (None, false));
    assert_eq!((e.sent[0].packets, e.sent[0].retransmitted), (4, 2));
}

#[test]
fn a_slot_is_used_again_when_its_queue_has_given_it_up() {
    let mut e = plain();
    let first = start(&mut e, 7, 3000, Moment::ZERO);
    assert!(matches!(turn(&mut e, first, Moment::ZERO).0, Turn::Send(_)));
    // All is acknowledged while the flow waits for its next turn: its slot is still in the round.
    assert!(!e.on_answer(&answer(Kind::Ack, 7, u32::MAX), None, &mut effects(Moment::us(1))));
    let second = start(&mut e, 8, 1000, Moment::us(1));
    assert_ne!(second, first);
    assert!(matches!(turn(&mut e, first, Moment::us(1)).0, Turn::Leave));
    e.reclaim(first);
    assert_eq!(start(&mut e, 9, 1000, Moment::us(1)), first);
    // Flow 8 leaves the round with its only packet, so that its slot is free with the answer.
    drain(&mut e, second, Moment::us(2));
    assert!(!e.on_answer(&answer(Kind::Ack, 8, 1), None, &mut effects(Moment::us(3))));
    assert_eq!(start(&mut e, 10, 1000, Moment::us(3)), second);
    let over: Vec<_> = e.sent.iter().map(|s| (s.flow, s.size, s.packets, s.acknowledged)).collect();
    assert_eq!(over, [(7, 3000, 1, Some(Moment::us(1))), (8, 1000, 1, Some(Moment::us(3)))]);
}

#[test]
fn a_flow_that_nobody_answers_is_over_with_its_last_packet() {
    let raw = Table { raw: Some(raw::Params {}), ..Table::default() };
    let mut e = host(&raw, &CongestionControl::default(), Vec::new());
    let slot = start(&mut e, 7, 2000, Moment::ZERO);
    assert_eq!(turn(&mut e, slot, Moment::ZERO).1, None, "there is no timeout");
    assert!(matches!(turn(&mut e, slot, Moment::ZERO + FULL).0, Turn::SendAndLeave(_)));
    assert_eq!((e.is_quiet(), e.sent[0].packets, e.sent[0].acknowledged), (true, 2, None));
    assert_eq!(start(&mut e, 8, 1000, Moment::us(1)), slot);
}

#[test]
fn the_rest_of_a_flow_goes_in_another_class_and_queue() {
    let mut e = plain();
    let slot = start(&mut e, 7, 3000, Moment::ZERO);
    assert_eq!(e.flow_of(slot), 7);
    assert_eq!(e.set_class(7, 0), Some((PortId(0), slot, QueueId(2))), "it was in the queue of class 1");
    let Turn::Send(packet) = turn(&mut e, slot, Moment::ZERO).0 else { panic!("it sends nothing") };
    assert_eq!((packet.class(), e.waits_for(7, Moment::ZERO)), (0, Some(Wait::Turn(QueueId(1)))));
    assert_eq!(e.set_class(8, 0), None, "there is no such flow");
}

#[test]
fn what_the_network_says_is_counted_for_the_host_and_for_flows_under_way() {
    let control = CongestionControl { dcqcn: Some(dcqcn::Params::default()), ..CongestionControl::default() };
    let mut e = host(&Table::default(), &control, Vec::new());
    let slot = start(&mut e, 7, 5000, Moment::ZERO);
    assert!(matches!(turn(&mut e, slot, Moment::ZERO).0, Turn::Send(_)));
    e.on_notice(&answer(Kind::Cnp, 7, 0), &mut effects(Moment::us(1)));
    let mut marked = answer(Kind::Ack, 7, 1);
    marked.set(Packet::ECHO);
    e.on_answer(&marked, None, &mut effects(Moment::us(2)));
    e.on_notice(&answer(Kind::Cnp, 8, 0), &mut effects(Moment::us(3)));
    assert_eq!((e.unfinished(Moment::NEVER)[0].notifications, e.notifications), (2, 3));
}

#[test]
fn a_receiver_acknowledges_to_the_end_whatever_comes_again() {
    let (later, soon) = (spec(7, 1000), spec(8, 1000));
    let mut e = host(
        &Table::default(),
        &CongestionControl::default(),
        vec![(vec![100, 101], later), (vec![100], soon)],
    );
    let mut take = |packet: Packet, now: Moment| {
        let all = on_data(&mut e, &packet, now);
        let frames = answers(&all);
        let released =
            |effect: &Effect| if let Effect::Start(spec) = effect { Some(spec.flow) } else { None };
        let released: Vec<_> = all.iter().filter_map(released).collect();
        assert_eq!((frames.len(), all.len()), (1, 1 + released.len()), "it sets no timer");
        (frames.first().map(|f| (f.kind(), f.flow(), f.seq(), f.dst(), f.bytes(), f.class())), released)
    };
    let ack = |flow, seq| Some((Kind::Ack, flow, seq, 1, 125, 1));
    assert_eq!(take(data(100, 0, false), Moment::us(1)), (ack(100, 1), vec![]));
    assert_eq!(take(data(101, 0, true), Moment::us(2)), (ack(101, 1), vec![]));
    assert_eq!(take(data(100, 1, true), Moment::us(3)), (ack(100, 2), vec![7, 8]));
    // All is here: the answer is beyond every packet, and nothing is released twice.
    assert_eq!(take(data(100, 0, false), Moment::us(4)), (ack(100, u32::MAX), vec![]));
    assert_eq!(take(data(100, 1, true), Moment::us(5)), (ack(100, u32::MAX), vec![]));
    assert_eq!(e.arrived, [(101, Moment::us(2)), (100, Moment::us(3))]);
    assert_eq!((e.accepted, e.duplicates, e.delivered_bytes, e.reordered), (3, 2, 5 * 1250, 0));
    // What a receiver needs is kept once for all that come after one another.
    on_data(&mut e, &data(102, 0, false), Moment::us(6));
    assert_eq!(e.receivers.len(), 2);
}

#[test]
fn a_packet_that_others_overtook_counts_unless_it_was_sent_again() {
    let mut e = plain();
    let mut again = data(100, 0, false);
    again.set(Packet::RETRANSMITTED);
    for packet in [data(100, 2, false), data(100, 1, false), again, data(100, 3, false)] {
        on_data(&mut e, &packet, Moment::us(1));
    }
    assert_eq!((e.reordered, e.accepted), (1, 1), "packets beyond the gap were thrown away");
}

#[test]
fn an_answer_takes_the_way_back() {
    // Pinned paths come in pairs; 0 and 1 are none.
    let mut e = plain();
    let mut back = |path: u16, seq: u32| {
        let mut packet = data(100, seq, seq == 3);
        packet.set_path(path);
        answers(&on_data(&mut e, &packet, Moment::us(1))).first().map(Packet::path)
    };
    assert_eq!([back(4, 0), back(0, 1), back(2, 2), back(6, 3), back(6, 3)], [5, 0, 3, 7, 7].map(Some));
}

#[test]
fn marks_are_echoed_once_an_interval_as_packet_or_on_the_ack() {
    for form in [Form::Packet, Form::Ack] {
        let params = dcqcn::Params {
            cnp_interval: Some(Duration::us(4)),
            cnp: Some(form),
            ..dcqcn::Params::default()
        };
        let control = CongestionControl { dcqcn: Some(params), ..CongestionControl::default() };
        let mut e = host(&Table::default(), &control, Vec::new());
        let mut told = Vec::new();
        // The third packet has no mark; the second and the fourth come within 4 us of the echo before.
        for (seq, (us, is_marked)) in
            [(1, true), (3, true), (4, false), (5, true), (6, true)].into_iter().enumerate()
        {
            let mut packet = data(100, number(seq), false);
            if is_marked {
                packet.set(Packet::CE);
            }
            let frames = answers(&on_data(&mut e, &packet, Moment::us(us)));
            let by_packet =
                frames.get(1).is_some_and(|f| f.kind() == Kind::Cnp && f.dst() == 1 && f.flow() == 100);
            let by_ack = frames[0].has(Packet::ECHO);
            assert!(!by_packet || form == Form::Packet);
            assert!(!by_ack || form == Form::Ack);
            told.push(by_packet || by_ack);
        }
        assert_eq!(told, [true, false, false, true, false]);
    }
}
