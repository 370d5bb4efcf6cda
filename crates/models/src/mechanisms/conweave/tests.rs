use std::sync::Arc;

use xoff_units::{Duration, Moment, Rate};

use super::tag::Flag;
use super::*;
use crate::faults::injection::Faults;
use crate::frames::framing::Framing;
use crate::frames::kinds::{Says, Weave};
use crate::parts::ids::Classes;
use crate::paths::routing::shortest::shortest;
use crate::paths::routing::{FirstHop, Map, Paths, Sources};
use crate::paths::topology::{Link, Shape, leaf_spine};
use crate::ports::core::Queues;
use crate::ports::effects::{Asker, Effect};
use crate::ports::queueing::port::{Port, Purpose, QueuePlan, QueueSpec, Turns};
use crate::ports::relay;

/// Host 2 is at leaf 5, and host 0 at leaf 4, whose ports 2 to 5 lead to spines.
const UP: [PortId; 4] = [PortId(2), PortId(3), PortId(4), PortId(5)];

/// `ConWeave` at leaf 4 of two leaves and four spines, 100 Gb/s and 1 us a link, with flows 0 to 9 of host 0.
fn leaf(params: &Params) -> (ConWeave, Core, Effects) {
    let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
    let topology =
        leaf_spine::Params { leaves: 2, spines: 4, hosts_per_leaf: 2, link, fabric_link: None, parallel: 1 }
            .build()
            .unwrap();
    let routes = shortest(&topology, Arc::new(Paths::new()), &FirstHop::Hash, 1, |_| true);
    let (map, ports) = (Arc::new(Map::new(routes, topology.wiring())), topology.ports());
    let spec = |purpose| QueueSpec { class: 0, level: 0, purpose };
    let data =
        [vec![spec(Purpose::Class)], vec![spec(Purpose::Reorder); usize::from(params.queues)]].concat();
    let plan = QueuePlan { data, turns: Turns::Packets };
    let list = ports[4]
        .iter()
        .map(|p| Port::new(&plan, p.link.rate, p.link.delay, p.peer, Duration::ZERO))
        .collect();
    let mut core = Core::new(
        4,
        list,
        Classes(1),
        Queueing::Oq,
        crate::ports::queueing::buffer::Buffer::Unlimited,
        false,
    );
    core.routing = map.clone();
    let site = Site {
        id: 4,
        forwards: true,
        is_host: false,
        ports: &ports[4],
        ends: &[],
        levels: &[],
        hosts: &[(0, PortId(0)), (1, PortId(1))],
        framing: &Framing::for_tests(),
        faults: Faults::default(),
        relay: &relay::Params::default(),
        round_trip: Duration::ZERO,
        map: &map,
        tag: crate::frames::tag::TagField::WHOLE,
        sources: &Arc::new(Sources { first: vec![0, 10, 20, 30, 30], ..Sources::default() }),
    };
    let here = ConWeave::install(params, &site, &mut core).unwrap();
    (here, core, Effects::for_tests(1))
}

/// The leaf at work.
struct Leaf {
    here: ConWeave,
    core: Core,
    effects: Effects,
}

impl Leaf {
    fn new(params: &Params) -> Self {
        let (here, core, effects) = leaf(params);
        Self { here, core, effects }
    }

    /// Sends a packet of flow 3 from host 0 to host 2 at a moment; returns its tag.
    fn send(&mut self, at: Moment) -> Tag {
        self.effects.now = at;
        let mut packet = Packet::new(Kind::Data, 3, 0, 2, 1250, 0);
        packet.set_in_port(PortId(0));
        let port = self.here.route(&mut packet, &UP, &self.core, &mut self.effects);
        let tag = Tag::read(packet.tag()).unwrap();
        assert_eq!(port, Some(UP[usize::from(tag.path)]), "with one switch above, a path is a port");
        tag
    }

    /// Hears a frame of the other leaf about flow 3.
    fn hear(&mut self, at: Moment, says: Says, of: u32) {
        self.effects.now = at;
        let frame = Packet::with(Weave { says, of }, 3, 0, 64, 0);
        assert_eq!(self.here.on_control(&frame, PortId(2), &self.core, &mut self.effects), Verdict::Consume);
    }

    fn moved(&self) -> u64 {
        self.here.rack.as_ref().unwrap().source.moved
    }

    /// Receives a packet of flow 13, of host 1, for host 0 by a port up; returns the queue of a held packet.
    fn receive(&mut self, at: Moment, tag: Tag, is_marked: bool) -> Option<QueueId> {
        self.effects.now = at;
        let mut packet = Packet::new(Kind::Data, 13, 0, 0, 1250, 0);
        packet.set_in_port(PortId(2));
        packet.set_tag(tag.word());
        if is_marked {
            packet.set(Packet::CE);
        }
        self.here.assign_queue(&mut packet, PortId(0), &self.core, &mut self.effects)
    }

    /// Returns the requests: frames as (word, info), blocks and pours by queue, timers.
    fn asked(&mut self) -> Vec<String> {
        let shown = |effect: &(u8, Effect)| match effect.1 {
            Effect::Emit(frame) => {
                assert_eq!((frame.kind(), frame.flow(), frame.dst()), (Kind::Weave, 13, 1));
                format!("tell {} {}", frame.seq(), frame.says())
            }
            Effect::Block(PortId(0), Queues::One(queue), Asker::Itself) => format!("block {queue}"),
            Effect::Unblock(PortId(0), Queues::One(queue)) => format!("unblock {queue}"),
            Effect::MoveQueue(PortId(0), from, to) => format!("pour {from} {to}"),
            Effect::Timer(at, 13) => format!("timer {at}"),
            other => panic!("{other:?} is nothing that it asks for"),
        };
        self.effects.take().iter().map(shown).collect()
    }

    fn expire(&mut self, at: Moment) {
        self.effects.now = at;
        self.here.on_timer(13, &self.core, &mut self.effects);
    }

    fn counted(&self, count: Count) -> u64 {
        struct One(Count, u64);
        impl Tally for One {
            fn add(&mut self, count: Count, value: u64) {
                self.1 += if count.name == self.0.name { value } else { 0 };
            }
        }
        let mut one = One(count, 0);
        self.here.counts(Moment::ZERO, &mut one);
        one.1
    }
}

/// Two links of 1 us each way, each with 1250 bytes in 100 ns and a frame of 125 bytes in 10 ns.
const BASE: Duration = Duration::ns(4220);
const LATE: Duration = Duration::ns(4220 + 4000);

#[test]
fn what_a_packet_carries_is_read_as_it_was_written() {
    for flag in [Flag::Data, Flag::Init, Flag::Tail] {
        for (is_moved, epoch, path, age) in
            [(false, 0, 0, 0), (true, 7, 0xFFF, 16_383), (true, 5, 64 * 3 + 2, 77)]
        {
            let tag = Tag { flag, is_moved, epoch, path, age };
            assert_eq!(Tag::read(tag.word()), Some(tag));
        }
    }
    assert_eq!(Tag::read(0), None);
    assert_eq!(
        (Tag::age(Duration::us(100)), Tag::age(Duration::ms(9)), Tag::span(100, 3151)),
        (3051, 16_383, Duration(3051 << 15))
    );
}

#[test]
fn a_flow_whose_answers_come_in_time_stays() {
    let mut leaf = Leaf::new(&Params::default());
    let first = leaf.send(Moment::ZERO);
    assert_eq!((first.flag, first.is_moved, first.epoch, first.age), (Flag::Init, false, 1, 0));
    let second = leaf.send(Moment::us(1));
    assert_eq!(second, Tag { flag: Flag::Data, age: Tag::age(Duration::us(1)), ..first });
    // The answer of the first epoch at the last moment that is in time: the next packet begins another, by
    // the same path.
    leaf.hear(Moment::ZERO + LATE, Says::Reply, 1);
    assert_eq!(leaf.send(Moment::ZERO + LATE + Duration::us(9)), Tag { epoch: 2, ..first });
    for epoch in 2..40 {
        leaf.hear(Moment::ZERO + LATE * epoch + BASE, Says::Reply, epoch as u32 % 8);
        assert_eq!(leaf.send(Moment::ZERO + LATE * (epoch + 1)).path, first.path);
    }
    assert_eq!(leaf.moved(), 0);
}

#[test]
fn a_flow_whose_answer_is_late_moves_once_until_its_tail_has_come() {
    let mut leaf = Leaf::new(&Params::default());
    let first = leaf.send(Moment::ZERO);
    assert_eq!(leaf.send(Moment::ZERO + LATE).flag, Flag::Data, "there is still time");
    let tail = leaf.send(Moment::ZERO + LATE + Duration::ns(100));
    assert_eq!((tail.flag, tail.is_moved, tail.path, leaf.moved()), (Flag::Tail, false, first.path, 1));
    let moved = leaf.send(Moment::ZERO + LATE + Duration::ns(200));
    assert_eq!((moved.flag, moved.is_moved, moved.epoch, moved.age), (Flag::Data, true, 1, tail.age));
    assert_ne!(moved.path, first.path);
    // The answer to the first packet comes at last, and a CLEAR of another epoch: nothing follows from them.
    leaf.hear(Moment::us(20), Says::Reply, 1);
    leaf.hear(Moment::us(20), Says::Clear, 0);
    assert_eq!(leaf.send(Moment::us(100)), moved);
    leaf.hear(Moment::us(101), Says::Clear, 1);
    let next = leaf.send(Moment::us(102));
    assert_eq!((next.flag, next.is_moved, next.epoch, next.path), (Flag::Init, false, 2, moved.path));
    assert_eq!(leaf.moved(), 1);
}

#[test]
fn a_flow_begins_anew_after_a_gap() {
    let mut leaf = Leaf::new(&Params::default());
    leaf.send(Moment::ZERO);
    assert_eq!(leaf.send(Moment::us(300)).flag, Flag::Tail, "a gap that is no longer than the expiry");
    assert_eq!(leaf.send(Moment::us(600)).epoch, 1);
    let paths: Vec<u16> = (0..64)
        .map(|n| {
            let tag = leaf.send(Moment::us(600) + Duration::us(301) * (n + 1));
            assert_eq!((tag.flag, u64::from(tag.epoch)), (Flag::Init, (n + 2) % 8));
            tag.path
        })
        .collect();
    assert!((0..4).all(|path| paths.contains(&path)), "by any path");
    assert_eq!(leaf.moved(), 1, "which is no move");
}

#[test]
fn no_path_is_chosen_that_was_marked_lately() {
    for round in 0..50 {
        let mut leaf = Leaf::new(&Params::default());
        leaf.effects = Effects::for_tests(round);
        let first = leaf.send(Moment::ZERO);
        let others: Vec<u32> = (0..4).filter(|path| *path != u32::from(first.path)).collect();
        // Of the three other paths two are paused, and a little later all of them.
        for path in &others[..2] {
            leaf.hear(Moment::ZERO + LATE, Says::Notify, *path);
        }
        leaf.send(Moment::ZERO + LATE + Duration::ns(1));
        let path = u32::from(leaf.send(Moment::ZERO + LATE + Duration::ns(2)).path);
        assert!(
            path == others[2] || path == u32::from(first.path),
            "neither of two that are drawn may be good"
        );
        let mut leaf = Leaf::new(&Params::default());
        leaf.effects = Effects::for_tests(round);
        leaf.send(Moment::ZERO);
        for path in &others {
            leaf.hear(Moment::ZERO + LATE, Says::Notify, *path);
        }
        leaf.send(Moment::ZERO + LATE + Duration::ns(1));
        let stays = leaf.send(Moment::ZERO + LATE + Duration::ns(2));
        assert_eq!(
            (stays.path, stays.is_moved, leaf.moved()),
            (first.path, false, 0),
            "it stays where all are bad"
        );
        assert_eq!(stays.flag, Flag::Data, "and no TAIL is sent");
    }
}

/// Tag of packets of an epoch that began 100 us before the first packet comes, with the TAIL at 50 us.
const TAIL_AT: Duration = Duration::us(50);

fn old(age: Duration) -> Tag {
    Tag { flag: Flag::Data, is_moved: false, epoch: 1, path: 2, age: Tag::age(age) }
}

fn moved() -> Tag {
    Tag { flag: Flag::Data, is_moved: true, epoch: 1, path: 3, age: Tag::age(TAIL_AT) }
}

fn tail() -> Tag {
    Tag { flag: Flag::Tail, ..old(TAIL_AT) }
}

#[test]
fn what_comes_before_the_tail_waits_for_it() {
    let mut leaf = Leaf::new(&Params::default());
    assert_eq!(leaf.receive(Moment::us(100), Tag { flag: Flag::Init, ..old(Duration::ZERO) }, false), None);
    assert_eq!(leaf.asked(), ["tell 0 1"]);
    assert_eq!(leaf.receive(Moment::us(110), old(Duration::us(10)), true), None);
    assert_eq!(leaf.asked(), ["tell 2 2"], "a mark is told with its path");
    // The TAIL left 40 us after the last packet of the old path: it is expected at 150 us, and waited for to
    // 166 us.
    let due = Duration::us(126) + Tag::span(Tag::age(Duration::us(10)), Tag::age(TAIL_AT));
    assert!((due + Duration::ns(66) - Duration::us(166)).ps() <= 132_000);
    assert_eq!(leaf.receive(Moment::us(120), moved(), false), Some(QueueId(2)));
    assert_eq!(leaf.asked(), ["block 2".to_string(), format!("timer {due}")]);
    assert_eq!(leaf.receive(Moment::us(121), moved(), false), Some(QueueId(2)));
    // The next by the old path shows that it is slower by now.
    assert_eq!(leaf.receive(Moment::us(140), old(Duration::us(20)), false), None);
    let due = Duration::us(156) + Tag::span(Tag::age(Duration::us(20)), Tag::age(TAIL_AT));
    assert_eq!(leaf.asked(), [format!("timer {due}")]);
    leaf.expire(Moment::us(170));
    assert_eq!(leaf.asked(), [""; 0], "a timer of before");
    assert_eq!(leaf.receive(Moment::us(175), tail(), false), None);
    assert_eq!(leaf.asked(), ["tell 1 1".to_string(), format!("timer {}", Duration::us(175))]);
    // Before that timer another packet comes at the same moment: it waits with the others.
    assert_eq!(leaf.receive(Moment::us(175), moved(), false), Some(QueueId(2)));
    leaf.expire(Moment::us(175));
    assert_eq!(leaf.asked(), ["pour 2 1", "unblock 2"]);
    assert_eq!(leaf.receive(Moment::us(176), moved(), false), None);
    let counts = [HELD, PACKETS, EARLY, UNHELD, MESSAGES].map(|count| leaf.counted(count));
    assert_eq!(counts, [1, 3, 0, 0, 3]);
}

#[test]
fn a_flow_that_its_source_forgot_begins_anew() {
    let of = |epoch: u8, tag: Tag| Tag { epoch, ..tag };
    let first = |epoch: u8| Tag { flag: Flag::Init, ..of(epoch, old(Duration::ZERO)) };
    for known in 0..8 {
        let mut leaf = Leaf::new(&Params::default());
        // An epoch that ended in order, and after it the first one of a source that knows nothing of it.
        leaf.receive(Moment::us(100), first(known), false);
        leaf.receive(Moment::us(101), of(known, tail()), false);
        assert_eq!(leaf.receive(Moment::us(900), first(1), false), None);
        assert_eq!(leaf.receive(Moment::us(901), moved(), false), Some(QueueId(2)), "after epoch {known}");
    }
}

#[test]
fn the_first_packet_of_an_epoch_may_come_behind_those_that_were_moved() {
    let mut leaf = Leaf::new(&Params::default());
    assert_eq!(leaf.receive(Moment::us(100), moved(), false), Some(QueueId(2)));
    assert_eq!(leaf.receive(Moment::us(101), Tag { flag: Flag::Init, ..old(Duration::ZERO) }, false), None);
    assert_eq!(leaf.receive(Moment::us(102), moved(), false), Some(QueueId(2)), "it is held as before");
    // So may it after they were let go without their TAIL: the epoch is not held a second time.
    let mut leaf = Leaf::new(&Params::default());
    assert_eq!(leaf.receive(Moment::us(100), moved(), false), Some(QueueId(2)));
    leaf.expire(Moment::us(316));
    assert_eq!(leaf.receive(Moment::us(317), moved(), false), None);
    assert_eq!(leaf.receive(Moment::us(318), Tag { flag: Flag::Init, ..old(Duration::ZERO) }, false), None);
    assert_eq!(leaf.receive(Moment::us(319), moved(), false), None);
}

#[test]
fn what_waits_for_a_tail_that_does_not_come_goes_on() {
    let mut leaf = Leaf::new(&Params::default());
    // No packet of the old path has come: 200 us, and the slack.
    assert_eq!(leaf.receive(Moment::us(100), moved(), false), Some(QueueId(2)));
    let due = Duration::us(316);
    assert_eq!(leaf.asked(), ["block 2".to_string(), format!("timer {due}")]);
    leaf.expire(Moment::ZERO + due);
    // The flow may move again, as its TAIL may be lost.
    assert_eq!(
        (leaf.asked(), leaf.counted(EARLY)),
        (["tell 1 1", "pour 2 1", "unblock 2"].map(String::from).to_vec(), 1)
    );
    assert_eq!(leaf.receive(Moment::ZERO + due, moved(), false), None, "none of the epoch waits any more");
    // Of another epoch one does; when the source begins yet another, that is over.
    let of = |epoch: u8, tag: Tag| Tag { epoch, ..tag };
    assert_eq!(leaf.receive(Moment::us(320), of(2, moved()), false), Some(QueueId(2)));
    leaf.asked();
    assert_eq!(
        leaf.receive(Moment::us(330), of(3, old(Duration::ZERO)), false),
        Some(QueueId(2)),
        "behind what waits"
    );
    assert_eq!(leaf.asked(), [format!("timer {}", Duration::us(330))]);
    leaf.expire(Moment::us(330));
    assert_eq!((leaf.asked().len(), leaf.counted(EARLY)), (2, 2));
    assert_eq!(leaf.receive(Moment::us(331), of(2, moved()), false), None, "of an earlier epoch");
    assert_eq!(leaf.receive(Moment::us(332), of(3, moved()), false), Some(QueueId(2)));
}

#[test]
fn a_flow_that_no_queue_is_left_for_goes_on() {
    let mut leaf = Leaf::new(&Params { queues: 1, ..Params::default() });
    assert_eq!(leaf.receive(Moment::us(100), moved(), false), Some(QueueId(2)));
    let mut other = Packet::new(Kind::Data, 14, 0, 0, 1250, 0);
    other.set_in_port(PortId(3));
    other.set_tag(moved().word());
    assert_eq!(leaf.here.assign_queue(&mut other, PortId(0), &leaf.core, &mut leaf.effects), None);
    assert_eq!(
        leaf.here.assign_queue(&mut other, PortId(1), &leaf.core, &mut leaf.effects),
        Some(QueueId(2)),
        "each port has its own"
    );
    assert_eq!((leaf.counted(HELD), leaf.counted(UNHELD)), (2, 1));
}
