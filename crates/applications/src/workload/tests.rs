use xoff_models::frames::flow::Planned;
use xoff_models::paths::topology::{Link, Shape, star};
use xoff_models::traffic::workload::{Flow, Host, MAX_FLOWS, MAX_LISTED, MAX_START};
use xoff_units::{Bytes, Duration, Moment, Rate, index};

use super::*;
use crate::job::Jobs;

/// Four hosts at a switch.
fn topology() -> Topology {
    let link = Link { rate: Rate::gbps(100), delay: Duration::us(1) };
    star::Params { hosts: 4, link }.build().unwrap()
}

fn made(workloads: &[Workload]) -> Result<AllFlows, Problem> {
    make(workloads, &topology(), 2, &Framing::for_tests(), 1, Duration::ZERO)
}

fn row(src: u64, dst: u64, start: u64, id: Option<&str>, after: &[&str]) -> Flow {
    Flow {
        src: Host::Number(src),
        dst: Host::Number(dst),
        size: Bytes(1000),
        start: Duration::us(start),
        id: id.map(Into::into),
        after: after.iter().map(ToString::to_string).collect(),
        via: Vec::new(),
    }
}

fn rows(flows: Vec<Flow>) -> Workload {
    Workload { flows: Some(flows), ..Workload::default() }
}

fn refused(flows: Vec<Flow>) -> (String, String) {
    made(&[rows(flows)]).unwrap_err()
}

#[test]
fn flows_are_numbered_by_source_and_then_by_the_order_in_which_they_are_given() {
    let first = Workload {
        start: Moment::us(10),
        ..rows(vec![row(2, 0, 5, None, &[]), row(0, 1, 0, None, &[]), row(2, 1, 0, None, &[])])
    };
    let second = Workload { name: Some("more".into()), class: 1, ..rows(vec![row(0, 3, 0, None, &[])]) };
    let plan = made(&[first, second]).unwrap();
    let flows: Vec<_> = plan.starting().map(|(src, f)| (src, f.flow, f.dst, f.start, f.class)).collect();
    // Of one source in the order of their start.
    let us = Moment::us;
    assert_eq!(
        flows,
        [(0, 1, 3, us(0), 1), (0, 0, 1, us(10), 0), (2, 3, 1, us(10), 0), (2, 2, 0, us(15), 0)]
    );
    assert_eq!((0..4).map(|flow| plan.sources.of(flow)).collect::<Vec<_>>(), [0, 0, 2, 2]);
    let names: Vec<_> = (0..4).map(|flow| plan.names[index(plan.name_of(flow))].as_str()).collect();
    assert_eq!(names, ["flows", "more", "flows", "flows"]);
    assert_eq!((plan.flows, plan.bytes, plan.pairs().len()), (4, 4000, 4));
    assert_eq!(plan.ends(5), [true, true, true, true, false]);
}

/// A job in which each of the four hosts sends a message to the next host.
fn shift(start: Moment) -> Workload {
    let collective = serde_json::from_str(r#"{"operation": "send_receive", "size": "1KB"}"#).unwrap();
    Workload { collective: Some(collective), start, name: Some("shift".into()), ..Workload::default() }
}

#[test]
fn connections_are_numbered_among_the_flows_of_their_sources() {
    let flows = || rows(vec![row(2, 0, 0, None, &[]), row(0, 1, 0, None, &[]), row(2, 1, 0, None, &[])]);
    let plan = made(&[flows(), shift(Moment::us(1)), flows()]).unwrap();
    assert_eq!((plan.flows, plan.bytes, plan.messages.get(&1)), (10, 10_000, Some(&4)));
    let names: Vec<_> = (0..10).map(|flow| plan.name_of(flow)).collect();
    assert_eq!(names, [0, 1, 2, 1, 0, 0, 1, 2, 2, 1]);
    assert_eq!((0..10).map(|flow| plan.sources.of(flow)).collect::<Vec<_>>(), [0, 0, 0, 1, 2, 2, 2, 2, 2, 3]);
    let jobs = plan.applications.of::<Jobs>().unwrap();
    for (src, flow) in [(0, 1), (1, 3), (2, 6), (3, 9)] {
        let [Planned { spec, to_come: 1 }] = plan.connections[src][..] else { panic!("one at host {src}") };
        assert_eq!((spec.flow, index(spec.dst), spec.start), (flow, (src + 1) % 4, Moment::us(1)));
        let [((to, _), number)] = *jobs.programs(src as u32)[0].connections() else {
            panic!("one of rank {src}")
        };
        assert_eq!((to, number), (spec.dst, flow));
    }
    // The key of a connection depends on the place in the workload alone.
    let alone = made(&[shift(Moment::us(1))]).unwrap();
    for (flow, other) in [1, 3, 6, 9].into_iter().zip(0..) {
        assert_eq!(plan.sources.keys.of(flow), alone.sources.keys.of(other));
    }
}

#[test]
fn a_job_that_starts_too_late_is_refused() {
    let (key, why) = made(&[shift(MAX_START)]).unwrap_err();
    assert!(key == "workload[0]" && why.contains("would start at"), "{key}: {why}");
}

#[test]
fn a_flow_that_waits_starts_by_nobody_but_those_it_waits_for() {
    let plan = made(&[rows(vec![
        row(0, 1, 0, Some("a"), &[]),
        row(2, 1, 0, Some("b"), &[]),
        row(1, 3, 4, None, &["b", "a", "b"]),
    ])])
    .unwrap();
    assert_eq!(plan.starting().map(|(_, f)| f.flow).collect::<Vec<_>>(), [0, 2]);
    let [(after, spec)] = &plan.waiting[1][..] else { panic!("one flow waits at host 1") };
    assert_eq!((after.as_slice(), spec.flow, spec.start), (&[0, 2][..], 1, Moment::us(4)));
    assert_eq!(plan.labels.get(&2).map(String::as_str), Some("b"));
    assert_eq!(
        plan.destinations()
            .into_iter()
            .map(|(src, to)| (src, to.into_iter().collect()))
            .collect::<Vec<(u32, Vec<u32>)>>(),
        [(0, vec![1]), (1, vec![3]), (2, vec![1])]
    );
}

#[test]
fn what_waits_for_itself_or_for_nothing_is_refused_by_its_key() {
    let circle = vec![row(0, 1, 0, Some("a"), &["b"]), row(1, 0, 0, Some("b"), &["a"])];
    let (key, why) = refused(circle);
    assert_eq!(
        (key.as_str(), why.contains("`a` after `b` after `a`")),
        ("workload[0].flows[0].after", true),
        "{why}"
    );
    for (flows, key) in [
        (vec![row(0, 1, 0, None, &["nobody"])], "workload[0].flows[0].after[0]"),
        (vec![row(0, 1, 0, Some("a"), &[]), row(2, 3, 0, None, &["a"])], "workload[0].flows[1].after[0]"),
        (vec![row(0, 1, 0, Some("a"), &[]), row(1, 2, 0, Some("a"), &[])], "workload[0].flows[1].id"),
        (vec![row(3, 3, 0, None, &[])], "workload[0].flows[0]"),
        (vec![row(0, 4, 0, None, &[])], "workload[0].flows[0].dst"),
        (vec![row(0, 1, 281_000_000, None, &[])], "workload[0].flows[0].start"),
        (vec![Flow { size: Bytes(0), ..row(0, 1, 0, None, &[]) }], "workload[0].flows[0].size"),
    ] {
        assert_eq!(refused(flows).0, key);
    }
}

#[test]
fn hosts_are_named_or_numbered_and_listed_once() {
    let (workload, topology, framing) = (Workload::default(), topology(), Framing::for_tests());
    let nccl = NcclParams::default();
    let making = Making::new(workload.common(&nccl), &topology, &framing, 1, Duration::ZERO, 1);
    let hosts = |given: &[Host]| making.hosts(Some(&given.to_vec()), "hosts");
    let named = |name: &str| Host::Name(name.into());
    assert_eq!(hosts(&[named("host3"), Host::Number(1)]), Ok(vec![3, 1]));
    assert_eq!(making.hosts(None, "hosts"), Ok(vec![0, 1, 2, 3]));
    for (given, key, why) in [
        (vec![Host::Number(1), named("host1")], "hosts", "twice"),
        (vec![Host::Number(0), Host::Number(9)], "hosts[1]", "0 to 3"),
        (vec![named(&topology.nodes[4].name)], "hosts[0]", "is a switch"),
        (vec![named("nobody")], "hosts[0]", "unknown host"),
    ] {
        let (at, said) = hosts(&given).unwrap_err();
        assert!(at == key && said.contains(why), "{at}: {said}");
    }
    assert_eq!(making.rate(2), Rate::gbps(100));
    let mut streams = [making.stream_of(1), making.stream_of(2), making.stream_for(1, "other")]
        .map(|mut s| s.below(1 << 60));
    streams.sort_unstable();
    assert!(streams[0] < streams[1] && streams[1] < streams[2], "each draws for itself");
}

#[test]
fn no_more_flows_are_listed_than_there_is_room_for() {
    let (workload, topology, framing) = (Workload::default(), topology(), Framing::for_tests());
    let nccl = NcclParams::default();
    let mut making = Making::new(workload.common(&nccl), &topology, &framing, 1, Duration::ZERO, 1);
    assert!(making.check_room(MAX_LISTED, "here").is_ok());
    making.add(0, 1, Bytes(1), "here").unwrap();
    assert_eq!(making.check_room(MAX_LISTED, "here").unwrap_err().0, "here");
    assert_eq!(making.room_to_draw(), MAX_FLOWS);
    making.lasts(Duration::us(3));
    making.lasts(Duration::us(2));
    let (workload, nccl) = (Workload::default(), NcclParams::default());
    let plan = number_flows(making, &[workload.common(&nccl)], vec!["one".into()]).unwrap();
    assert_eq!(plan.lasts, Moment::us(3));
}
