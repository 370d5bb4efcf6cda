use super::*;
use crate::frames::kinds::Kind;

const FULL: u16 = 1000;

/// A sent frame: port, `seq`, and count.
type Frame = (usize, u32, u32);

/// A switch of three ports and two classes, with windows in blocks of 100 B.
struct Switch {
    credits: Credits,
    core: Core,
    effects: Effects,
}

impl Switch {
    fn new(scheme: Scheme, window: u32) -> Self {
        let core = Core::for_tests(3, 2);
        let params = Params { scheme, block: Some(Bytes(100)), ..Params::default() };
        let sender = |group| Sender {
            of: Classes(2).of(group),
            sent: 0,
            limit: window,
            window,
            waiting: 0,
            is_timed: false,
        };
        let receiver = |group| Receiver {
            of: Classes(2).of(group),
            received: 0,
            used: 0,
            window,
            told: None,
            is_owed: false,
            repeated: VecDeque::new(),
            said: None,
        };
        let hop = Hop {
            spacing: Duration::ZERO,
            repeat: Duration::us(10),
            needed: 20,
            round_trip: Duration::us(2),
        };
        let credits = Credits {
            params,
            forwards: true,
            is_host: false,
            delay: Duration::ns(300),
            repeat_bytes: 8,
            full: 10,
            classes: Classes(2),
            hops: vec![hop; 3],
            senders: (0..6).map(sender).collect(),
            receivers: (0..6).map(receiver).collect(),
            is_waiting: vec![vec![false; 3]; 3],
            lose_updates: 0,
            waits: 0,
            updates: 0,
            lost: 0,
        };
        Self { credits, core, effects: Effects::for_tests(1) }
    }

    /// A packet arrives by port 0 for port 2, and waits.
    fn arrive(&mut self, bytes: u16, class: u8) {
        let packet = Packet::new(Kind::Data, 1, 0, 9, bytes, class);
        let (queue, group) = (QueueId(1 + u16::from(class)), self.core.group(PortId(0), class));
        self.core.ingress[group].add(bytes);
        self.credits.on_enqueue(
            &Enqueued { packet: &packet, port: PortId(2), queue },
            &self.core,
            &mut self.effects,
        );
        self.core.ports[2].push(queue, packet);
    }

    /// The first packet of a class leaves by port 2.
    fn leave(&mut self, class: u8) {
        let queue = QueueId(1 + u16::from(class));
        let mut packet = self.core.ports[2].pop(queue).unwrap();
        let group = self.core.group(PortId(0), class);
        self.core.ingress[group].sub(packet.bytes());
        self.credits.on_dequeue(
            &Dequeued { packet: &packet, port: PortId(2), queue, is_whole: true },
            &self.core,
            &mut self.effects,
        );
        let mut records = crate::frames::packet_metadata::Records::default();
        let mut event =
            Departure { packet: &mut packet, port: PortId(2), queue, is_own: false, records: &mut records };
        self.credits.on_departure(&mut event, &self.core, &mut self.effects);
    }

    fn hear(&mut self, class: u8, is_repeated: bool, count: u32) {
        let frame = Credits::frame(class, is_repeated, count, 8);
        assert_eq!(
            self.credits.on_control(&frame, PortId(2), &self.core, &mut self.effects),
            Verdict::Consume
        );
    }

    /// Returns the requests: queues of port 2 that wait or go on, and frames.
    fn asked(&mut self) -> (Vec<(u16, bool)>, Vec<Frame>) {
        let (mut held, mut sent) = (Vec::new(), Vec::new());
        for (_, effect) in self.effects.take() {
            match effect {
                Effect::Block(PortId(2), Queues::One(queue), Asker::Neighbour) => held.push((queue.0, true)),
                Effect::Unblock(PortId(2), Queues::One(queue)) => held.push((queue.0, false)),
                Effect::Send(port, frame) => sent.push((port.index(), frame.seq(), frame.says())),
                Effect::Timer(..) | Effect::Pausing(_) => {}
                other => panic!("{other:?}"),
            }
        }
        (held, sent)
    }
}

#[test]
fn a_queue_waits_while_its_first_packet_has_not_its_credits() {
    // 25 credits: two packets of ten go, the third waits for five more, and one of five behind it waits with
    // it.
    let mut s = Switch::new(Scheme::Absolute, 25);
    s.credits.receivers[0].window = 100;
    for bytes in [FULL, FULL, FULL, 500] {
        s.arrive(bytes, 0);
    }
    assert_eq!(s.asked().0, []);
    s.leave(0);
    assert_eq!(s.asked().0, []);
    s.leave(0);
    assert_eq!(s.asked().0, [(1, true)]);
    // The other class has credits of its own.
    s.arrive(FULL, 1);
    s.leave(1);
    assert_eq!(s.asked().0, []);
    s.hear(0, false, 29);
    assert_eq!(s.asked().0, [], "nine of ten");
    s.hear(0, false, 30);
    assert_eq!(s.asked().0, [(1, false)]);
    s.leave(0);
    assert_eq!(s.asked().0, [(1, true)]);
    s.hear(0, false, 35);
    assert_eq!(s.asked().0, [(1, false)]);
    s.leave(0);
    assert_eq!(s.asked().0, [], "nothing waits");
    // A packet that comes to an empty queue is its first; a small one would have gone.
    s.hear(0, false, 39);
    s.arrive(400, 0);
    assert_eq!(s.asked().0, []);
    s.leave(0);
    s.arrive(100, 0);
    assert_eq!((s.asked().0, s.credits.waits), (vec![(1, true)], 3));
}

#[test]
fn packets_that_are_made_as_they_are_sent_wait_for_a_full_one() {
    let mut s = Switch::new(Scheme::Cbfc, 25);
    (s.credits.is_host, s.credits.forwards) = (true, false);
    let mut records = crate::frames::packet_metadata::Records::default();
    for (bytes, waits) in [(FULL, vec![]), (500, vec![]), (100, vec![(1, true)])] {
        let mut packet = Packet::new(Kind::Data, 1, 0, 9, bytes, 0);
        let mut event = Departure {
            packet: &mut packet,
            port: PortId(2),
            queue: QueueId(1),
            is_own: true,
            records: &mut records,
        };
        s.credits.on_departure(&mut event, &s.core, &mut s.effects);
        assert_eq!(s.asked().0, waits);
    }
    // 16 of 25 are used: seven that have left make 16 free.
    s.hear(0, false, 7);
    assert_eq!((s.asked().0, s.credits.available(4)), (vec![(1, false)], 16));
}

#[test]
fn updates_say_the_limit_or_what_has_left_and_go_round() {
    for (scheme, at, says) in
        [(Scheme::Absolute, 4090, [4090 + 25 - 4096 + 10, 29]), (Scheme::Cbfc, (1 << 20) - 6, [4, 14])]
    {
        let mut s = Switch::new(scheme, 25);
        s.credits.receivers[0].received = at;
        (s.credits.senders[4].sent, s.credits.senders[4].limit) = (at, (at + 25) & s.credits.params.mask());
        s.arrive(FULL, 0);
        s.arrive(FULL, 0);
        s.leave(0);
        assert_eq!(s.asked().1, [(0, 0, says[0])]);
        // The neighbour's counters go round in the same way.
        s.hear(0, false, says[0]);
        assert_eq!(s.credits.available(4), 25);
        s.leave(0);
        assert_eq!((s.asked().1[0].2, s.credits.available(4)), (says[0] + 10, 15));
    }
}

#[test]
fn a_repeated_count_gives_back_what_did_not_come_once_what_was_sent_before_is_here() {
    let mut s = Switch::new(Scheme::Cbfc, 25);
    s.arrive(FULL, 0);
    // The neighbour has sent 20: ten are in the pipeline, or lost.
    let frame = Credits::frame(0, true, 20, 64);
    s.credits.on_control(&frame, PortId(0), &s.core, &mut s.effects);
    let [(_, Effect::Timer(at, token))] = s.effects.take()[..] else { panic!("it waits for the pipeline") };
    assert_eq!(at, Moment::ns(300));
    let mut late = Switch::new(Scheme::Cbfc, 25);
    late.arrive(FULL, 0);
    late.credits.on_control(&frame, PortId(0), &late.core, &mut late.effects);
    late.arrive(FULL, 0);
    for (s, lost, says) in [(&mut s, 10, 10), (&mut late, 0, 0)] {
        s.effects.take();
        s.credits.on_timer(token, &s.core, &mut s.effects);
        // It is answered either way: an update may have been lost.
        assert_eq!((s.asked().1, s.credits.lost), (vec![(0, 0, says)], lost));
        assert_eq!(s.credits.receivers[0].received, 20);
    }
}

#[test]
fn a_count_is_repeated_while_credits_are_out() {
    let mut s = Switch::new(Scheme::Absolute, 25);
    s.arrive(FULL, 0);
    s.leave(0);
    let timer = |s: &mut Switch| {
        s.effects
            .take()
            .into_iter()
            .find_map(|e| if let Effect::Timer(at, token) = e.1 { Some((at, token)) } else { None })
    };
    let (at, token) = timer(&mut s).unwrap();
    assert_eq!(at, Moment::us(10));
    s.effects.now = at;
    s.credits.on_timer(token, &s.core, &mut s.effects);
    assert!(
        matches!(s.effects.take()[..], [(_, Effect::Send(PortId(2), f)), (_, Effect::Timer(..))] if (f.seq(), f.says()) == (1, 10))
    );
    s.hear(0, false, 35);
    s.credits.on_timer(token, &s.core, &mut s.effects);
    assert!(s.effects.is_empty());
}

#[test]
fn updates_keep_their_distance_and_the_last_says_all() {
    let mut s = Switch::new(Scheme::Cbfc, 25);
    s.credits.hops[0].spacing = Duration::ns(500);
    for _ in 0..2 {
        s.arrive(FULL, 0);
    }
    s.leave(0);
    assert_eq!(s.asked().1, [(0, 0, 10)]);
    s.effects.now = Moment::ns(100);
    s.leave(0);
    let due: Vec<_> = s
        .effects
        .take()
        .into_iter()
        .filter(|e| matches!(e.1, Effect::Timer(at, _) if at == Moment::ns(500)))
        .collect();
    assert_eq!(due.len(), 1);
    s.effects.now = Moment::ns(500);
    s.credits.on_timer(UPDATE, &s.core, &mut s.effects);
    assert_eq!(s.asked().1, [(0, 0, 20)]);
}

#[test]
fn whose_bytes_leave_no_room_is_said_once_a_round_trip() {
    // The neighbour needs 20 blocks of 45: with the third packet 15 are left, and two wait already.
    let mut s = Switch::new(Scheme::Absolute, 45);
    let mut said = Vec::new();
    for (ns, bytes) in [(0, FULL), (100, FULL), (200, FULL), (300, FULL), (1000, 100), (2500, 100)] {
        s.effects.now = Moment::ns(ns);
        s.arrive(bytes, 0);
        let is_said =
            s.effects.take().iter().any(|e| matches!(e.1, Effect::Pausing(Because::Input(PortId(0), 0))));
        said.extend(is_said.then_some(ns));
    }
    assert_eq!(said, [200, 2500]);
}
