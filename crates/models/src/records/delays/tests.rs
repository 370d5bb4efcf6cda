use super::*;

const NS: fn(u64) -> Moment = Moment::ns;

/// Kind, flow, cause, beginning of a pause, and length in nanoseconds.
type Piece = (Kind, Option<u32>, Option<&'static str>, Option<u64>, u64);

fn pieces(parts: &[Part]) -> Vec<Piece> {
    parts
        .iter()
        .map(|p| (p.kind, p.flow, p.cause, p.from.map(|at| at.ps() / 1000), p.time.ps() / 1000))
        .collect()
}

fn swept(log: &PortLog, queue: QueueId, from: u64, to: u64) -> Vec<Piece> {
    let mut parts = Vec::new();
    log.sweep(queue, NS(from), NS(to), &mut |part| add(&mut parts, part));
    let sum = parts.iter().fold(Duration::ZERO, |sum, p| sum + p.time);
    assert_eq!(sum, NS(to) - NS(from), "no gap and no overlap");
    pieces(&parts)
}

#[test]
fn time_in_a_queue_is_that_of_frames_pauses_and_nobody() {
    let mut log = PortLog::default();
    log.enter(NS(50));
    for (flow, from, to) in [(Some(1), 0, 100), (Some(2), 100, 200), (None, 200, 210), (Some(1), 300, 400)] {
        log.send(flow, NS(from), NS(to));
    }
    let behind = |flow, time| (Kind::Queueing, Some(flow), None, None, time);
    let expected = [
        behind(1, 50 + 40),
        behind(2, 100),
        (Kind::Control, None, None, None, 10),
        (Kind::HolBlocking, None, None, None, 90),
    ];
    assert_eq!(swept(&log, QueueId(1), 50, 340), expected);
    // A pause precedes frames of the port sent meanwhile, in its queue only. The second pause ends after the
    // first.
    log.block(QueueId(1), QueueId(1), "pfc", NS(150));
    log.block(QueueId(1), QueueId(1), "sfc", NS(180));
    log.unblock(QueueId(1), "pfc", NS(220));
    log.unblock(QueueId(1), "sfc", NS(260));
    let paused = |cause, from, time| (Kind::Paused, None, Some(cause), Some(from), time);
    let expected = [
        behind(1, 90),
        behind(2, 50),
        paused("pfc", 150, 70),
        paused("sfc", 220, 40),
        (Kind::HolBlocking, None, None, None, 40),
    ];
    assert_eq!(swept(&log, QueueId(1), 50, 340), expected);
    assert_eq!(swept(&log, QueueId(2), 150, 200), [behind(2, 50)]);
}

#[test]
fn a_log_goes_back_as_far_as_somebody_waits() {
    let mut log = PortLog::default();
    let send = |log: &mut PortLog, from: u64| log.send(Some(7), NS(from), NS(from + 100));
    for from in [0, 100, 200] {
        send(&mut log, from);
    }
    log.enter(NS(250));
    log.enter(NS(250));
    for from in [300, 400, 500] {
        send(&mut log, from);
    }
    assert_eq!(
        swept(&log, QueueId(1), 250, 600),
        [(Kind::Queueing, Some(7), None, None, 350)],
        "the frame that was on the wire is there"
    );
    log.leave(NS(250));
    send(&mut log, 600);
    assert_eq!(swept(&log, QueueId(1), 250, 700)[0].4, 450, "one of two still waits");
    log.leave(NS(250));
    send(&mut log, 700);
    assert_eq!(
        swept(&log, QueueId(1), 250, 800)[0].0,
        Kind::HolBlocking,
        "nobody waits, and what was before is forgotten"
    );
}

#[test]
fn what_keeps_a_source_changes_while_its_frame_is_on_the_wire() {
    let mut recorder = Recorder::new(0, 1, Traced::All, false);
    recorder.start(7, 2, PortId(0), QueueId(1), NS(0));
    // The frame of the flow ends at 100. A hold begins at 50, and counts from the end of the frame. At 180
    // the flow waits for its turn.
    recorder.sends(7, Wait::Turn(QueueId(1)), NS(0), NS(100));
    recorder.hold(7, "sfc", NS(50));
    recorder.wait(7, Wait::SourceHeld, NS(50));
    recorder.wait(7, Wait::Window, NS(150));
    recorder.wait(7, Wait::Turn(QueueId(1)), NS(180));
    recorder.block(PortId(0), QueueId(1), QueueId(1), "pfc", NS(190));
    let left = recorder.unfinished(NS(250));
    let [(7, PortId(0), parts)] = &left[..] else { panic!("{left:?}") };
    let expected: [Piece; 4] = [
        (Kind::SourceHeld, None, Some("sfc"), None, 50),
        (Kind::Window, None, None, None, 30),
        (Kind::HolBlocking, None, None, None, 10),
        (Kind::Paused, None, Some("pfc"), Some(190), 60),
    ];
    assert_eq!(pieces(parts), expected);
}

#[test]
fn only_packets_that_may_complete_their_flow_are_followed() {
    let packet = |flow, flag| {
        let mut packet = Packet::new(crate::frames::kinds::Kind::Data, flow, 0, 2, 1000, 0);
        packet.set(flag);
        packet
    };
    let may = |traced: Traced, reorders, packet: Packet| {
        Recorder::new(0, 1, traced, reorders).may_complete(&packet)
    };
    let some = || Traced::Flows(Arc::from([3, 7]));
    assert!(
        may(some(), false, packet(7, Packet::LAST)) && may(some(), false, packet(3, Packet::RETRANSMITTED))
    );
    assert!(!may(some(), false, packet(5, Packet::LAST)) && !may(Traced::All, false, packet(7, 0)));
    assert!(may(Traced::All, true, packet(7, 0)));
}

#[test]
fn bytes_of_a_pause_are_those_it_is_for() {
    let mut core = Core::for_tests(3, 2);
    let packet = |flow, in_port, class| {
        let mut packet = Packet::new(crate::frames::kinds::Kind::Data, flow, 0, 2, 1000, class);
        packet.set_in_port(in_port);
        packet.set_tag(5);
        packet
    };
    for (port, flow, in_port, class) in
        [(1, 10, 0, 1), (1, 10, 0, 1), (2, 11, 0, 1), (2, 12, 0, 0), (2, 13, 1, 1)]
    {
        core.ports[port].push(QueueId::at(usize::from(1 + class)), packet(flow, PortId(in_port), class));
    }
    let mut recorder = Recorder::new(4, 3, Traced::All, false);
    recorder.on_arrival(&packet(11, PortId(0), 1), PortId(2), QueueId(2), NS(7));
    let mut because = |because| {
        recorder.on_pausing(because, "pfc", &core, |_| PortId(0), NS(7));
        let rows = std::mem::take(&mut recorder.contributions);
        rows.iter().map(|c| (c.place, c.flow, c.bytes)).collect::<Vec<_>>()
    };
    assert_eq!(
        because(Because::Input(PortId(0), 1)),
        [(Some((PortId(1), QueueId(2))), Some(10), 2000), (Some((PortId(2), QueueId(2))), Some(11), 2000)]
    );
    assert_eq!(because(Because::Tagged(PortId(1), 5)), [(Some((PortId(2), QueueId(2))), Some(13), 1000)]);
    assert_eq!(because(Because::Output(PortId(1))), [(Some((PortId(1), QueueId(2))), Some(10), 2000)]);
    assert_eq!(because(Because::Input(PortId(2), 0)), [(None, None, 0)]);
}
