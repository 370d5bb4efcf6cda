use xoff_units::{Duration, Moment, Rate};

use super::*;
use crate::frames::kinds::Kind;
use crate::mechanisms::pause_response::Response;

const CONTROL: u16 = 64;

fn sink() -> Effects {
    Effects::for_tests(1)
}

/// A switch of two classes with level-triggered ingress counts.
fn by_level(ports: usize, quanta: Option<u16>) -> (Pfc, Core, Effects) {
    let core = Core::for_tests(ports, 2);
    (Pfc::new(Trigger::Level, CONTROL, &core, quanta), core, sink())
}

/// PFC frames sent: port, bits of classes, quanta.
fn frames(effects: &[(u8, Effect)]) -> Vec<(usize, u8, u16)> {
    let frame = |e: &(u8, Effect)| match e.1 {
        Effect::Send(port, f) if f.bytes() == CONTROL => {
            f.payload::<kinds::Pfc>().map(|said| (port.index(), said.classes, said.quanta))
        }
        _ => None,
    };
    effects.iter().filter_map(frame).collect()
}

fn sent(effects: &mut Effects) -> Vec<(usize, u8, u16)> {
    frames(&effects.take())
}

/// Pauses of our own queues: port, class, and true for a pause.
fn held(effects: &mut Effects) -> Vec<(usize, u8, bool)> {
    let pause = |e: &(u8, Effect)| match e.1 {
        Effect::Block(port, Queues::Class(class), _) => Some((port.index(), class, true)),
        Effect::Unblock(port, Queues::Class(class)) => Some((port.index(), class, false)),
        _ => None,
    };
    effects.take().iter().filter_map(pause).collect()
}

fn frame(class: u8, quanta: u16) -> Packet {
    Packet::with(kinds::Pfc { classes: 1 << class, quanta }, u32::MAX, 0, CONTROL, 0)
}

/// Pauses, frames and the time above XOFF.
fn count(pfc: &Pfc, now: Moment) -> [u64; 3] {
    let mut counts = Vec::new();
    pfc.counts(now, &mut |count: Count, n| {
        counts.extend([PAUSES, FRAMES, ABOVE].contains(&count).then_some(n));
    });
    counts.try_into().unwrap()
}

const ON: u16 = u16::MAX;

#[test]
fn a_crossing_sends_one_pause_and_one_resume_of_its_class() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    effects.now = Moment::us(1);
    pfc.on_level(Crossing { port: PortId(1), class: 1, is_up: true }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(1, 0b10, ON)]);
    let mut standing = Vec::new();
    pfc.standing_pauses(&mut |port, class| standing.push((port.index(), class)));
    assert_eq!(standing, [(1, 1)]);
    // A pause that stands counts as above XOFF to now.
    assert_eq!(count(&pfc, Moment::us(3)), [1, 1, Duration::us(2).ps()]);
    effects.now = Moment::us(4);
    pfc.on_level(Crossing { port: PortId(1), class: 1, is_up: false }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(1, 0b10, 0)]);
    assert_eq!(count(&pfc, Moment::us(9)), [1, 2, Duration::us(3).ps()]);
    pfc.standing_pauses(&mut |port, class| panic!("port {port} is still paused in class {class}"));
}

#[test]
fn two_reasons_make_one_pause_that_the_last_one_ends() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    pfc.on_level(Crossing { port: PortId(0), class: 0, is_up: true }, &core, &mut effects);
    pfc.on_pause_request(PortId(0), 0, true, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(0, 0b01, ON)]);
    pfc.on_level(Crossing { port: PortId(0), class: 0, is_up: false }, &core, &mut effects);
    assert_eq!(sent(&mut effects), []);
    pfc.on_pause_request(PortId(0), 0, false, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(0, 0b01, 0)]);
    // What a request asks for is no time above XOFF.
    assert_eq!(count(&pfc, Moment::us(9)), [1, 2, 0]);
}

#[test]
fn a_frame_holds_its_class_until_the_resume() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    assert_eq!(pfc.on_control(&frame(1, ON), PortId(1), &core, &mut effects), Verdict::Consume);
    assert_eq!(held(&mut effects), [(1, 1, true)]);
    pfc.on_control(&frame(1, 0), PortId(1), &core, &mut effects);
    assert_eq!(held(&mut effects), [(1, 1, false)]);
    let other = Packet::new(Kind::Cim, 3, 1, 0, CONTROL, 0);
    assert_eq!(pfc.on_control(&other, PortId(1), &core, &mut effects), Verdict::Pass);
    assert!(effects.is_empty());
}

#[test]
fn a_pause_is_refreshed_at_half_its_quanta_while_it_stands() {
    // 1000 quanta of 512 bits at 100 Gb/s are 5.12 us.
    let (mut pfc, mut core, mut effects) = by_level(2, Some(1000));
    let half = Duration::ns(2560);
    let timers = |list: &[(u8, Effect)]| -> Vec<(Moment, u32)> {
        list.iter()
            .filter_map(|e| if let Effect::Timer(at, token) = e.1 { Some((at, token)) } else { None })
            .collect()
    };
    pfc.on_level(Crossing { port: PortId(1), class: 0, is_up: true }, &core, &mut effects);
    let list = effects.take();
    let token = timers(&list)[0].1;
    assert_eq!((frames(&list), timers(&list)), (vec![(1, 1, 1000)], vec![(Moment::ZERO + half, token)]));
    effects.now = Moment::ZERO + half;
    pfc.on_timer(token, &core, &mut effects);
    let list = effects.take();
    assert_eq!((frames(&list), timers(&list)), (vec![(1, 1, 1000)], vec![(Moment::ZERO + half * 2, token)]));
    // One that still waits for the link says the same: none is added, but the next refresh is due.
    core.ports[1].push(QueueId(0), frame(0, 1000));
    effects.now = Moment::ZERO + half * 2;
    pfc.on_timer(token, &core, &mut effects);
    let list = effects.take();
    assert_eq!((frames(&list), timers(&list)), (vec![], vec![(Moment::ZERO + half * 3, token)]));
    // A resume that waits behind it takes it back, so that the next has to be sent.
    core.ports[1].push(QueueId(0), frame(0, 0));
    effects.now = Moment::ZERO + half * 3;
    pfc.on_timer(token, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(1, 1, 1000)]);
    pfc.on_level(Crossing { port: PortId(1), class: 0, is_up: false }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(1, 1, 0)]);
    effects.now = Moment::ZERO + half * 4;
    pfc.on_timer(token, &core, &mut effects);
    assert!(effects.is_empty(), "a pause that is over is not refreshed");
    assert_eq!(count(&pfc, effects.now)[..2], [1, 4]);
}

#[test]
fn without_refresh_the_next_packet_after_its_end_makes_another_pause() {
    // 100 quanta of 512 bits at 100 Gb/s are 512 ns.
    let (mut pfc, core, mut effects) = by_level(2, Some(100));
    pfc.refreshes = false;
    assert!(pfc.watches().has(Watches::ENQUEUE));
    pfc.on_level(Crossing { port: PortId(0), class: 0, is_up: true }, &core, &mut effects);
    let list = effects.take();
    assert_eq!(frames(&list), [(0, 1, 100)]);
    assert!(!list.iter().any(|e| matches!(e.1, Effect::Timer(..))), "nothing refreshes it");
    let packet = Packet::new(Kind::Data, 7, 0, 9, 1000, 0);
    let mut renewed = Vec::new();
    for ns in [0, 511, 512, 700, 1024] {
        effects.now = Moment::ns(ns);
        pfc.on_enqueue(
            &Enqueued { packet: &packet, port: PortId(1), queue: QueueId(1) },
            &core,
            &mut effects,
        );
        renewed.extend(sent(&mut effects).iter().map(|f| (ns, f.2)));
    }
    assert_eq!(renewed, [(512, 100), (1024, 100)]);
    pfc.on_level(Crossing { port: PortId(0), class: 0, is_up: false }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(0, 1, 0)]);
    effects.now = Moment::us(9);
    pfc.on_enqueue(&Enqueued { packet: &packet, port: PortId(1), queue: QueueId(1) }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [], "it is below XON");
    assert_eq!(count(&pfc, effects.now)[..2], [3, 4]);
}

#[test]
fn a_pause_expires_unless_it_was_refreshed() {
    // 100 quanta of 512 bits at 100 Gb/s are 512 ns.
    let (mut pfc, core, mut effects) = by_level(2, Some(100));
    let length = Rate::gbps(100).time(100 * 64);
    assert_eq!(length, Duration::ns(512));
    let told = |pfc: &mut Pfc, effects: &mut Effects, now: Moment| -> (Moment, u32) {
        effects.now = now;
        pfc.on_control(&frame(1, 100), PortId(1), &core, effects);
        let list = effects.take();
        assert!(matches!(list[0].1, Effect::Block(PortId(1), Queues::Class(1), Asker::Neighbour)));
        if let Effect::Timer(at, token) = list[1].1 { (at, token) } else { panic!("{list:?}") }
    };
    let (first, token) = told(&mut pfc, &mut effects, Moment::ZERO);
    let (second, _) = told(&mut pfc, &mut effects, Moment::ns(300));
    assert_eq!([first, second], [Moment::ZERO + length, Moment::ns(812)]);
    effects.now = first;
    pfc.on_timer(token, &core, &mut effects);
    assert_eq!(held(&mut effects), [], "it was refreshed");
    effects.now = second;
    pfc.on_timer(token, &core, &mut effects);
    assert_eq!(held(&mut effects), [(1, 1, false)]);
}

/// A switch with egress thresholds of 3000 and 1000 bytes.
fn by_egress(ports: usize) -> (Pfc, Core, Effects) {
    let core = Core::for_tests(ports, 2);
    let mut pfc = Pfc::new(Trigger::Egress(vec![(3000, 1000); ports]), CONTROL, &core, None);
    pfc.paused_by_output = vec![Vec::new(); ports];
    (pfc, core, sink())
}

#[test]
fn a_full_output_pauses_each_feeder_once_with_its_first_packet() {
    let (mut pfc, mut core, mut effects) = by_egress(4);
    let packet = |input: PortId| {
        let mut packet = Packet::new(Kind::Data, 7, 0, 9, 1000, 1);
        packet.set_in_port(input);
        packet
    };
    // Queue 2 of output 3 serves class 1. The third packet reaches XOFF, and input 0 has fed it before.
    let mut paused = Vec::new();
    for input in [0, 0, 1, 1, 2, 0, 2] {
        core.ports[3].queues[2].bytes.add(1000);
        pfc.on_enqueue(
            &Enqueued { packet: &packet(PortId(input)), port: PortId(3), queue: QueueId(2) },
            &core,
            &mut effects,
        );
        paused.extend(sent(&mut effects).iter().map(|f| (input, *f)));
    }
    assert_eq!(paused, [(1, (1, 0b10, ON)), (2, (2, 0b10, ON)), (0, (0, 0b10, ON))]);
    // Seven packets wait: the sixth departure leaves XON, and lets all of them go on.
    let mut resumed = Vec::new();
    for departure in 1..=7 {
        core.ports[3].queues[2].bytes.sub(1000);
        pfc.on_dequeue(
            &Dequeued { packet: &packet(PortId(0)), port: PortId(3), queue: QueueId(2), is_whole: true },
            &core,
            &mut effects,
        );
        resumed.extend(sent(&mut effects).iter().map(|f| (departure, *f)));
    }
    assert_eq!(resumed, [(6, (1, 0b10, 0)), (6, (2, 0b10, 0)), (6, (0, 0b10, 0))]);
    assert_eq!(count(&pfc, Moment::ZERO)[..2], [3, 6]);
}

#[test]
fn two_full_outputs_pause_a_feeder_once_until_both_have_drained() {
    let (mut pfc, mut core, mut effects) = by_egress(3);
    let packet = Packet::new(Kind::Data, 7, 0, 9, 3000, 0);
    for output in [1, 2] {
        core.ports[output].queues[1].bytes.add(3000);
        pfc.on_enqueue(
            &Enqueued { packet: &packet, port: PortId::at(output), queue: QueueId(1) },
            &core,
            &mut effects,
        );
    }
    assert_eq!(sent(&mut effects), [(0, 1, ON)]);
    let mut drain = |output: PortId| {
        core.ports[output].queues[1].bytes.sub(3000);
        pfc.on_dequeue(
            &Dequeued { packet: &packet, port: output, queue: QueueId(1), is_whole: true },
            &core,
            &mut effects,
        );
        sent(&mut effects)
    };
    assert_eq!((drain(PortId(1)), drain(PortId(2))), (vec![], vec![(0, 1, 0)]));
}

#[test]
fn a_dynamic_threshold_pauses_at_it_and_resumes_an_offset_below() {
    // A pool of 10,000 B without reserve, and alpha 1: with x bytes in use x ≥ 10,000 − x holds from 5000 on.
    // An offset of 3000 lets it go on when x + 3000 ≤ 10,000 − x, at 3500 and below.
    let (mut pfc, mut core, mut effects) = by_level(2, None);
    pfc.trigger = Trigger::Dynamic(buffer::Resume { offset: Some(3000), at: None });
    let memory = buffer::Shared::for_tests(10_000);
    core.buffer = Buffer::Shared(buffer::SharedBuffer::new(
        &memory,
        1,
        [buffer::Share { alpha: 1.0, reserve: 0, headroom: 0, fills_pool: false }; 4],
    ));
    let packet = Packet::new(Kind::Data, 7, 0, 9, 500, 0);
    let mut when = Vec::new();
    for n in 1..=10 {
        assert!(core.buffer.admit(PortId(0), 0, PortId(1), 0, 0, 500));
        pfc.on_enqueue(
            &Enqueued { packet: &packet, port: PortId(1), queue: QueueId(1) },
            &core,
            &mut effects,
        );
        when.extend(sent(&mut effects).iter().map(|f| (n * 500, f.2)));
    }
    for n in (0..10).rev() {
        core.buffer.release(PortId(0), 0, PortId(1), 500);
        pfc.on_dequeue(
            &Dequeued { packet: &packet, port: PortId(1), queue: QueueId(1), is_whole: true },
            &core,
            &mut effects,
        );
        when.extend(sent(&mut effects).iter().map(|f| (n * 500, f.2)));
    }
    assert_eq!(when, [(5000, ON), (3500, 0)]);
}

#[test]
fn a_relay_raises_the_class_and_speaks_to_neighbours_of_the_lower_one() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    pfc.raises_classes = true;
    assert!(pfc.watches().has(Watches::ASSIGN));
    let classes = [0, 1].map(|class| {
        let mut packet = Packet::new(Kind::Data, 7, 0, 9, 1000, class);
        assert_eq!(pfc.assign_queue(&mut packet, PortId(0), &core, &mut effects), None);
        packet.class()
    });
    assert_eq!(classes, [1, 1], "there is none above the highest");
    pfc.on_level(Crossing { port: PortId(0), class: 1, is_up: true }, &core, &mut effects);
    pfc.on_level(Crossing { port: PortId(0), class: 1, is_up: false }, &core, &mut effects);
    assert_eq!(sent(&mut effects), [(0, 0b01, ON), (0, 0b01, 0)]);
}

#[test]
fn a_relay_passes_a_pause_on_to_all_others_until_the_last_neighbour_resumes() {
    let (mut pfc, core, mut effects) = by_level(3, None);
    (pfc.trigger, pfc.passes_on) = (Trigger::Never, true);
    let mut tell = |port: PortId, quanta: u16| {
        pfc.on_control(&frame(0, quanta), port, &core, &mut effects);
        sent(&mut effects)
    };
    assert_eq!(tell(PortId(0), ON), [(1, 1, ON), (2, 1, ON)]);
    assert_eq!(tell(PortId(0), ON), [], "a second pause says nothing new");
    // Port 1 pauses, too: port 0 hears of it, and port 2 has heard.
    assert_eq!(tell(PortId(1), ON), [(0, 1, ON)]);
    assert_eq!(tell(PortId(0), 0), [(1, 1, 0)]);
    assert_eq!(tell(PortId(1), 0), [(0, 1, 0), (2, 1, 0)]);
    assert!(
        pfc.pauses_because(PortId(0), 1, PortId(2), 1)
            && !pfc.pauses_because(PortId(2), 1, PortId(2), 1)
            && !pfc.pauses_because(PortId(0), 1, PortId(2), 0)
    );
}

/// A switch with a watchdog: polls each microsecond, detection of two, restoration of three.
fn watched(action: watchdog::Action) -> (Pfc, Core, Effects) {
    let (mut pfc, core, effects) = by_level(3, None);
    let us = |n| Some(Duration::us(n));
    let params = watchdog::Params { detection: Duration::us(2), restoration: us(3), poll: us(1), action };
    pfc.watchdog = Some(Watchdog::new(&params, 6));
    (pfc, core, effects)
}

#[test]
fn in_a_storm_nothing_goes_to_the_neighbour_or_comes_from_it() {
    let (mut pfc, mut core, mut effects) = watched(watchdog::Action::Drop);
    assert!(pfc.watches().has(Watches::ADMIT));
    let mut packet = Packet::new(Kind::Data, 7, 0, 9, 1000, 1);
    for kind in [Kind::Data, Kind::Data, Kind::Ack] {
        core.ports[2].push(QueueId(2), Packet::new(kind, 7, 0, 9, 1000, 1));
    }
    pfc.on_control(&frame(1, ON), PortId(2), &core, &mut effects);
    let list = effects.take();
    let [(_, Effect::Timer(at, token)), (_, Effect::Block(PortId(2), Queues::Class(1), Asker::Neighbour))] =
        list[..]
    else {
        panic!("{list:?}")
    };
    assert_eq!(at, Moment::us(2));
    let ask = |pfc: &mut Pfc, packet: &mut Packet, from: u16, port: PortId| {
        packet.set_in_port(PortId(from));
        pfc.admit(packet, Place { port, queue: QueueId(2) }, &core, &mut sink()) == Admit::Drop
    };
    assert!(!ask(&mut pfc, &mut packet, 0, PortId(2)));
    effects.now = at;
    pfc.on_timer(token, &core, &mut effects);
    let list = effects.take();
    assert!(
        matches!(
            list[..],
            [
                (_, Effect::Discard(PortId(2), Queues::Class(1))),
                (_, Effect::Unblock(PortId(2), Queues::Class(1)))
            ]
        ),
        "{list:?}"
    );
    let dropped = [(0, 2), (2, 0), (0, 1)].map(|(from, to)| ask(&mut pfc, &mut packet, from, PortId(to)));
    assert_eq!(dropped, [true, true, false]);
    packet.set_class(0);
    assert!(!ask(&mut pfc, &mut packet, 0, PortId(2)), "the other class");
    // A storm, and two packets that waited and two that came; answers are no data.
    let mut counts = Vec::new();
    pfc.counts(at, &mut |count: Count, n| counts.push((count.name, n)));
    assert!(counts.contains(&("storms", 1)) && counts.contains(&("dropped_in_storms", 4)));
    // A pause is not obeyed, and three polls after the last one it is over.
    pfc.on_control(&frame(1, ON), PortId(2), &core, &mut effects);
    assert_eq!(held(&mut effects), []);
    pfc.on_control(&frame(1, 0), PortId(2), &core, &mut effects);
    let list = effects.take();
    assert!(matches!(list[0].1, Effect::Timer(at, _) if at == Moment::us(5)), "{list:?}");
    effects.now = Moment::us(5);
    pfc.on_timer(token, &core, &mut effects);
    packet.set_class(1);
    assert!(!ask(&mut pfc, &mut packet, 0, PortId(2)));
    pfc.on_control(&frame(1, ON), PortId(2), &core, &mut effects);
    assert_eq!(held(&mut effects), [(2, 1, true)]);
}

#[test]
fn a_watchdog_that_forwards_only_ignores_pauses() {
    let (mut pfc, core, mut effects) = watched(watchdog::Action::Forward);
    assert!(!pfc.watches().has(Watches::ADMIT));
    pfc.on_control(&frame(0, ON), PortId(1), &core, &mut effects);
    effects.take();
    effects.now = Moment::us(2);
    pfc.on_timer(WATCH | 2, &core, &mut effects);
    assert!(matches!(effects.take()[..], [(_, Effect::Unblock(PortId(1), Queues::Class(0)))]));
}

#[test]
fn so_many_resumes_are_never_sent() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    pfc.lose_resumes = 2;
    for n in 0..3 {
        for is_up in [true, false] {
            pfc.on_level(Crossing { port: PortId(0), class: 0, is_up }, &core, &mut effects);
        }
        let resumes = sent(&mut effects).iter().filter(|f| f.2 == 0).count();
        assert_eq!(resumes, usize::from(n == 2));
    }
    // They are in no count, either: three pauses and one resume.
    assert_eq!(count(&pfc, Moment::ZERO), [3, 4, 0]);
}

#[test]
fn a_pause_acts_after_the_response_time() {
    let (mut pfc, core, mut effects) = by_level(2, None);
    let time = Duration::us(2);
    pfc.delayed = Delayed::new(Some(Response::Time(time)), &core);
    let timers = |effects: &mut Effects| -> Vec<(Moment, u32)> {
        let timer =
            |e: &(u8, Effect)| if let Effect::Timer(at, token) = e.1 { Some((at, token)) } else { None };
        effects.take().iter().filter_map(timer).collect()
    };
    pfc.on_control(&frame(1, ON), PortId(1), &core, &mut effects);
    let first = timers(&mut effects);
    let token = first[0].1;
    assert_eq!(first, [(Moment::ZERO + time, token)]);
    // A second pause before the effect moves nothing.
    effects.now = Moment::us(1);
    pfc.on_control(&frame(1, ON), PortId(1), &core, &mut effects);
    assert!(effects.is_empty());
    effects.now = Moment::us(2);
    pfc.on_timer(token, &core, &mut effects);
    assert_eq!(held(&mut effects), [(1, 1, true)]);
    // A resume acts at once.
    pfc.on_control(&frame(1, 0), PortId(1), &core, &mut effects);
    assert_eq!(held(&mut effects), [(1, 1, false)]);
    // A resume takes a waiting pause back, and the next pause waits for the whole time.
    effects.now = Moment::us(10);
    pfc.on_control(&frame(1, ON), PortId(1), &core, &mut effects);
    effects.now = Moment::us(11);
    pfc.on_control(&frame(1, 0), PortId(1), &core, &mut effects);
    pfc.on_control(&frame(1, ON), PortId(1), &core, &mut effects);
    effects.take();
    effects.now = Moment::us(12);
    pfc.on_timer(token, &core, &mut effects);
    assert!(effects.is_empty(), "the first pause is over");
    effects.now = Moment::us(13);
    pfc.on_timer(token, &core, &mut effects);
    assert_eq!(held(&mut effects), [(1, 1, true)]);
}

#[test]
fn a_pause_that_ends_before_its_effect_never_acts() {
    // 100 quanta of 512 bits at 100 Gb/s are 512 ns.
    let (mut pfc, core, mut effects) = by_level(2, Some(100));
    pfc.delayed = Delayed::new(Some(Response::Time(Duration::ns(600))), &core);
    pfc.on_control(&frame(1, 100), PortId(1), &core, &mut effects);
    let timers: Vec<(Moment, u32)> = effects
        .take()
        .iter()
        .filter_map(|e| if let Effect::Timer(at, token) = e.1 { Some((at, token)) } else { None })
        .collect();
    assert_eq!(timers.iter().map(|t| t.0).collect::<Vec<_>>(), [Moment::ns(600), Moment::ns(512)]);
    for (at, token) in [timers[1], timers[0]] {
        effects.now = at;
        pfc.on_timer(token, &core, &mut effects);
        assert!(held(&mut effects).iter().all(|(_, _, is_pause)| !is_pause));
    }
}
