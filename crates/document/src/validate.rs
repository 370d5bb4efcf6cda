//! Checks beyond the types of a document: ranges, and combinations of keys.

use serde_json::json;
use xoff_models::faults::{Fault, Queued};
use xoff_models::frames::tag::{self, TagUse};
use xoff_models::hosts::congestion_control::contract::{Echo, Hosts, Line, Tag};
use xoff_models::hosts::congestion_control::{CongestionControl, Scheme};
use xoff_models::hosts::stack::{Override, Stack};
use xoff_models::hosts::transport::Protocol;
use xoff_models::mechanisms::at;
use xoff_models::mechanisms::contract::Properties;
use xoff_models::network::node::Acks;
use xoff_models::parts::param_error::{Change, remove};
use xoff_models::paths::routing::FirstHop;
use xoff_models::ports::core::Queueing;
use xoff_models::ports::queueing::buffer;
use xoff_models::ports::queueing::scheduler::Scheduler;
use xoff_models::traffic::workload::MAX_START;
use xoff_units::{Duration, Moment};

use crate::document::Scenario;
use crate::error::InputError;

/// Workloads are numbered with 16 bits.
pub const MAX_WORKLOADS: usize = 65_535;

/// Returns the invalid keys of a document, at most one for each part.
pub fn validate(s: &Scenario) -> Vec<InputError> {
    [framing(s), switch(s), injected_faults(s), host(s), parts(s), overrides(s), faults(s), run(s)]
        .into_iter()
        .filter_map(Result::err)
        .collect()
}

/// Requires the mechanism of each injected fault.
fn injected_faults(s: &Scenario) -> Result<(), InputError> {
    let (faults, flow_control) = (&s.switch.faults, &s.switch.flow_control);
    for (key, count, part, is_given) in [
        ("lose_resumes", faults.lose_resumes, "pfc", flow_control.pfc.is_some()),
        ("lose_credit_updates", faults.lose_credit_updates, "credits", flow_control.credits.is_some()),
    ] {
        if count > 0 && !is_given {
            return Err(InputError::new(
                format!("switch.faults.{key}"),
                format!("needs switch.flow_control.{part}, which is missing"),
            ));
        }
    }
    Ok(())
}

/// Packet sizes.
fn framing(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let f = &s.framing;
    if f.payload.0 == 0 {
        return wrong("framing.payload", "must be at least 1B".into());
    }
    let sizes = [
        ("payload", f.payload.0),
        ("header", f.header.0),
        ("preamble_and_ifg", f.preamble_and_ifg.0),
        ("control_frame_size", f.control_frame_size.0),
        ("min_frame_size", f.min_frame_size.0),
    ];
    for parts in [
        &["payload", "header", "preamble_and_ifg"][..],
        &["control_frame_size", "preamble_and_ifg"],
        &["min_frame_size", "preamble_and_ifg"],
    ] {
        let of = || sizes.iter().filter(|s| parts.contains(&s.0));
        let bytes: u64 = of().map(|s| s.1).sum();
        if bytes > 65_535 {
            // Names the largest part.
            let largest = of().max_by_key(|s| s.1).map_or("", |s| s.0);
            return wrong(
                &format!("framing.{largest}"),
                format!("a frame of {bytes} B is above the maximum of 65535 B"),
            );
        }
    }
    for (key, bytes) in
        [("control_frame_size", f.control_frame_size.0), ("min_frame_size", f.min_frame_size.0)]
    {
        if bytes == 0 {
            return wrong(&format!("framing.{key}"), "must be above zero".into());
        }
    }
    Ok(())
}

/// Checks switches, without their mechanisms.
fn switch(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    if s.switch.forwarding_latency > Duration::ms(1_000) {
        return wrong(
            "switch.forwarding_latency",
            format!("{} is above the maximum of 1s", s.switch.forwarding_latency),
        );
    }
    if let Some(cut_through) = &s.switch.cut_through {
        cut_through
            .validate()
            .map_err(|(key, why)| InputError::new(format!("switch.cut_through.{key}"), why))?;
    }
    if !(1..=8).contains(&s.switch.classes) {
        return wrong("switch.classes", format!("{} is out of range; allowed are 1 to 8", s.switch.classes));
    }
    scheduler(s)?;
    let f = &s.framing;
    let largest = f.payload.0 + f.header.0 + f.preamble_and_ifg.0;
    check_buffer("switch", &s.switch.buffer, largest)?;
    Ok(())
}

/// Checks turns of classes.
fn scheduler(s: &Scenario) -> Result<(), InputError> {
    let (classes, first) = (s.switch.classes, s.switch.strict_priority_classes);
    if first >= classes {
        return Err(InputError::new("switch.strict_priority_classes", "must be below switch.classes"));
    }
    let by_inputs = s.switch.queueing == Queueing::Iq;
    s.switch.scheduler.validate(classes, first, by_inputs).map_err(|(key, why)| InputError::new(key, why))
}

/// Checks overrides of switches and ports: each override as if valid for all switches.
fn overrides(s: &Scenario) -> Result<(), InputError> {
    if switch(s).is_err() || parts(s).is_err() {
        return Ok(());
    }
    let largest = s.framing.payload.0 + s.framing.header.0 + s.framing.preamble_and_ifg.0;
    for (i, change) in s.switch.overrides.iter().enumerate() {
        let at = |key: &str| format!("switch.overrides[{i}].{key}");
        if change.cut_through.is_none()
            && change.ecn.is_none()
            && change.pfc.is_none()
            && change.buffer.is_none()
        {
            return Err(InputError::new(
                format!("switch.overrides[{i}]"),
                "an empty override; give cut_through, ecn, pfc or buffer",
            ));
        }
        if let Some(cut_through) = &change.cut_through {
            cut_through
                .validate()
                .map_err(|(key, why)| InputError::new(at(&format!("cut_through.{key}")), why))?;
        }
        let mut local = s.switch.local();
        change.lay_over(&mut local).map_err(|(key, why)| InputError::new(at(key), why))?;
        // Maps a key of the switch to the key of the override.
        let here = |error: InputError| {
            let key = error.path.strip_prefix("switch.").unwrap_or(&error.path);
            let key = key.strip_prefix("flow_control.").unwrap_or(key).replace("buffer.shared", "buffer");
            InputError::new(at(&key), error.message)
        };
        check_buffer("switch", &local.buffer, largest).map_err(here)?;
        local
            .mechanisms
            .validate(s.switch.classes, s.switch.queueing, &local.buffer, &s.framing.on_wire())
            .map_err(|e| here(e.into()))?;
    }
    Ok(())
}

/// Checks hosts, without transport and congestion control.
fn host(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let f = &s.framing;
    check_buffer("host.relay", &s.host.relay.buffer, f.payload.0 + f.header.0 + f.preamble_and_ifg.0)?;
    if !(0.0..=10.0).contains(&s.host.jitter) {
        return wrong("host.jitter", format!("{} is out of range; allowed are 0 to 10", s.host.jitter));
    }
    if let Some(classify) = &s.host.classify {
        if let Some(mice) = classify.mice.filter(|m| m.class >= s.switch.classes) {
            let allowed = s.switch.classes;
            return wrong(
                "host.classify.mice.class",
                format!("{} is out of range; the switches have {allowed} (switch.classes)", mice.class),
            );
        }
        if let Some(n) = classify.by_destination.filter(|n| *n == 0 || *n > s.switch.classes) {
            let allowed = s.switch.classes;
            return wrong(
                "host.classify.by_destination",
                format!("{n} is out of range; allowed are 1 to {allowed} (switch.classes)"),
            );
        }
    }
    if s.host.acks != Acks::Control {
        let mechanisms = s.switch.mechanisms();
        let refused = |why: &str| wrong("host.acks", Change::set("host.acks", "control").after(why));
        if s.switch.queueing == Queueing::Iq {
            return refused("switch.queueing = \"iq\" has no queues of classes at outputs");
        }
        if let Some(other) =
            mechanisms.others().iter().find(|o| o.properties.plans_queues || o.properties.assigns_queues)
        {
            return refused(&format!("{} assigns packets of a class to its own queues", other.name));
        }
        if mechanisms.interface_queues() > 1 {
            return refused("the queues of an interface replace classes");
        }
    }
    relay(s)?;
    for (i, change) in s.host.overrides.iter().enumerate() {
        let path = format!("host.overrides[{i}]");
        if change.transport.is_none() && change.congestion_control.is_none() {
            return wrong(&path, "an empty override; give transport or congestion_control".into());
        }
        of_classes(s, change, &path)?;
        if change.hosts.is_empty() {
            return wrong(&at(&path, "hosts"), "the list is empty; `*` stands for all hosts".into());
        }
    }
    if let Some(FirstHop::Asymmetric(ate)) = &s.host.first_hop {
        if !(ate.threshold > 0.0 && ate.threshold <= 1.0) {
            let given = ate.threshold;
            return wrong(
                "host.first_hop.asymmetric.threshold",
                format!("{given} is out of range; allowed are numbers above 0 and up to 1"),
            );
        }
        if ate.window.is_some_and(|window| window < Duration::ns(100)) {
            return wrong("host.first_hop.asymmetric.window", "must be 100ns or longer".into());
        }
    }
    Ok(())
}

/// Checks an override of some classes.
fn of_classes(s: &Scenario, change: &Override, path: &str) -> Result<(), InputError> {
    let wrong = |key: &str, message: String| Err(InputError::new(at(path, key), message));
    if let Some(class) = change.classes.iter().find(|class| **class >= s.switch.classes) {
        let why = format!("{class} is out of range; the switches have {} (switch.classes)", s.switch.classes);
        return wrong("classes", why);
    }
    if change.classes.is_empty() {
        return Ok(());
    }
    if change.transport.is_some() {
        return wrong("transport", "not allowed with classes; the transport is that of the host".into());
    }
    let line = Line::nominal(s.framing.on_wire());
    let bases = [change.congestion_control.as_ref(), Some(&s.host.congestion_control)];
    let has_half = bases.into_iter().flatten().any(|control| has_receiver(control, line))
        || Protocol::new(&s.host.transport, line).pulls(line).is_some();
    if has_half {
        let why = "the receivers of one of the two schedule the flows of all classes; remove the override";
        return wrong("classes", why.into());
    }
    let mechanisms = s.switch.mechanisms();
    let changes = |part: &Properties| part.assigns_queues || part.interface_queues > 1;
    if let Some(other) = mechanisms.parts().iter().find(|part| changes(&part.properties())) {
        let why = remove(format!("{} chooses classes or queues of packets", other.path()));
        return wrong("classes", why);
    }
    Ok(())
}

/// Checks hosts that relay.
fn relay(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let (relay, f) = (&s.host.relay, &s.framing);
    if relay.ecn && s.switch.ecn.is_none() {
        return wrong(
            "host.relay.ecn",
            "relays mark by the rules of switch.ecn, which is missing; give switch.ecn".into(),
        );
    }
    if relay.delay > Duration::ms(1_000) {
        return wrong("host.relay.delay", format!("{} is above the maximum of 1s", relay.delay));
    }
    let Some(bytes) = relay.per_flow else { return Ok(()) };
    let largest = f.payload.0 + f.header.0 + f.preamble_and_ifg.0;
    if !(largest..1 << 32).contains(&bytes.0) {
        return wrong(
            "host.relay.per_flow",
            format!("{bytes} is out of range; allowed are {largest} B, a frame, to below 4GiB"),
        );
    }
    match &s.switch.flow_control.pfc {
        None => {
            wrong("host.relay.per_flow", Change::set("switch.flow_control.pfc", json!({})).after("needs PFC"))
        }
        Some(pfc) if pfc.relays.is_some() => wrong(
            "host.relay.per_flow",
            Change::remove("switch.flow_control.pfc.relays")
                .after("mutually exclusive with switch.flow_control.pfc.relays"),
        ),
        Some(_) => Ok(()),
    }
}

/// Mechanisms, transport and congestion control.
fn parts(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let mechanisms = s.switch.mechanisms();
    let framing = s.framing.on_wire();
    mechanisms.validate(s.switch.classes, s.switch.queueing, &s.switch.buffer, &framing)?;
    if s.switch.queueing == Queueing::Iq && mechanisms.any(|p| p.wants_congestion_queues) {
        return wrong(
            "switch.queueing",
            Change::set("switch.queueing", "oq").after("iq has no congestion queues"),
        );
    }
    if let Some(chooses) =
        mechanisms.parts().iter().find(|p| p.properties().routes && s.switch.queueing == Queueing::Iq)
    {
        let why = "not allowed with switch.queueing = \"iq\", which chooses ports late";
        return wrong(chooses.path(), Change::set("switch.queueing", "oq").after(why));
    }
    if mechanisms.interface_queues() > 1 {
        if s.switch.classes > 1 {
            let why = "the queues of an interface replace classes";
            return wrong("switch.classes", Change::set("switch.classes", 1).after(why));
        }
        if matches!(s.switch.scheduler, Scheduler::Queues(_)) {
            let why = "the queues of an interface replace classes";
            let change = Change::set("switch.scheduler", "round_robin");
            return wrong("switch.scheduler.queues", change.after(why));
        }
    }
    stack(s, &s.host.stack())
}

/// The transport and the congestion control of hosts, beside the mechanisms of switches.
fn stack(s: &Scenario, stack: &Stack) -> Result<(), InputError> {
    let mechanisms = s.switch.mechanisms();
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let framing = s.framing.on_wire();
    stack.transport.validate(&framing)?;
    let transport = Protocol::new(&stack.transport, Line::nominal(framing));
    let acknowledges = transport.acknowledges();
    if let Some(cuts) = mechanisms.parts().iter().find(|p| p.properties().cuts_data && !acknowledges) {
        return wrong(
            cuts.path(),
            Change::set("host.transport", json!({ "ndp": {} }))
                .after("host.transport.raw does not retransmit trimmed packets"),
        );
    }
    control(s, &transport, &stack.congestion_control)
}

/// Checks a congestion control together with the transport and the mechanisms of switches.
fn control(s: &Scenario, transport: &Protocol, control: &CongestionControl) -> Result<(), InputError> {
    let mechanisms = s.switch.mechanisms();
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    let framing = s.framing.on_wire();
    let line = Line::nominal(framing);
    let (acknowledges, holds_lost) = (transport.acknowledges(), transport.windows_hold_lost());
    control.validate(&Hosts { framing: &framing, acknowledges, holds_lost })?;
    if let (Some(pulls), Some(given)) = (transport.pulls(line), control.given().first()) {
        let why = format!("{given} is not allowed with {}, whose receivers schedule the senders", pulls.part);
        return wrong("host.congestion_control", Change::remove("host.congestion_control").after(why));
    }
    // A congestion control and the mechanism of its signal share the tag of packets.
    let listens_to = control.listens_to().map(|(name, _)| name);
    let scheme = Scheme::new(control, line);
    let by_pulls = control.pulls(line).map(|pulls| pulls.part);
    if let (Some(pulls), Some(_), Some(name)) = (by_pulls, scheme.receiving(0), scheme.name()) {
        let path = format!("host.congestion_control.{}", control.plugins.key(name));
        let why = format!("has receivers that schedule the senders, as has {pulls}");
        return wrong(&path, Change::remove(&path).after(why));
    }
    let by_control = scheme.name().filter(|_| scheme.tag() != Tag::Unused);
    let by_mechanism = mechanisms
        .parts()
        .into_iter()
        .find(|p| p.properties().tag_bits > 0 && Some(p.name()) != listens_to)
        .map(|p| p.name());
    let by_mechanism =
        by_mechanism.filter(|_| tag::share(&[control.tag_use(line)], mechanisms.tag_bits()).is_none());
    if let (Some(own), Some(other)) =
        (by_pulls.or(by_control), by_control.filter(|_| by_pulls.is_some()).or(by_mechanism))
    {
        let path = format!("host.congestion_control.{}", control.plugins.key(own));
        return wrong(&path, Change::remove(&path).after(format!("tags packets, as does {other}")));
    }
    if let Some(hears) = mechanisms.parts().iter().find(|p| p.listens_to().is_some()) {
        if !acknowledges {
            return wrong(hears.path(), "needs acknowledgements; host.transport.raw sends none".into());
        }
        let echo = scheme.echo();
        if let (Some(control), true) = (control.given().first(), echo.is_some_and(|e| e != Echo::EVERY)) {
            let why = format!(
                "needs a mark on each ACK, and {control} reports marks in notifications or for several packets; use another congestion control"
            );
            return wrong(hears.path(), why);
        }
    }
    Ok(())
}

/// True for a congestion control with a half at receivers.
fn has_receiver(control: &CongestionControl, line: Line) -> bool {
    control.pulls(line).is_some() || Scheme::new(control, line).receiving(0).is_some()
}

/// Checks hosts with different stacks: each stack alone, and together with the most common stack.
pub fn stacks(s: &Scenario, list: &[Stack]) -> Result<(), InputError> {
    let line = Line::nominal(s.framing.on_wire());
    let (base, acknowledges) = (&list[0], Protocol::new(&list[0].transport, line).acknowledges());
    for other in &list[1..] {
        let paths = other.paths();
        let here = |error: InputError| {
            let known = [("host.transport", 0), ("host.congestion_control", 1)];
            let found = known.iter().find_map(|(path, place)| {
                Some(format!("{}{}", paths[*place], error.path.strip_prefix(path)?))
            });
            InputError::new(found.unwrap_or(error.path), error.message)
        };
        stack(s, other).map_err(here)?;
        let protocol = Protocol::new(&other.transport, line);
        for one in &other.of_classes {
            let path = Stack::control_path(Some(one.of));
            control(s, &protocol, &one.congestion_control).map_err(|error| {
                let rest =
                    error.path.strip_prefix("host.congestion_control").map(|rest| format!("{path}{rest}"));
                InputError::new(rest.unwrap_or(error.path), error.message)
            })?;
        }
        if protocol.acknowledges() != acknowledges {
            let why = "host.transport.raw must be set for all hosts or for none";
            return Err(InputError::new(&paths[0], why));
        }
        let halves = |stack: &Stack| {
            [
                Protocol::new(&stack.transport, line).pulls(line).is_some(),
                has_receiver(&stack.congestion_control, line),
            ]
        };
        let is_other =
            [base.transport != other.transport, base.congestion_control != other.congestion_control];
        let (here, there) = (halves(other), halves(base));
        if let Some(place) = (0..2).find(|place| (here[*place] || there[*place]) && is_other[*place]) {
            let why = "receivers must be the same at all hosts; remove the override, or give all hosts this setting";
            return Err(InputError::new(&paths[place], why));
        }
        let uses: Vec<TagUse> =
            list.iter().flat_map(Stack::controls).map(|(_, control)| control.tag_use(line)).collect();
        if tag::share(&uses, s.switch.mechanisms().tag_bits()).is_none() {
            let why =
                "the congestion controls of the hosts need the same bits of packets; remove the override";
            return Err(InputError::new(&paths[1], why));
        }
    }
    Ok(())
}

/// Checks faults, and settings that faults exclude.
fn faults(s: &Scenario) -> Result<(), InputError> {
    s.network.failover.validate().map_err(|(key, why)| InputError::new(at("network.failover", key), why))?;
    let cuts = s.switch.cut_through.is_some() || s.switch.overrides.iter().any(|o| o.cut_through.is_some());
    if let Some(retry) = &s.network.link_retry {
        let wrong = |key: &str, why: String| Err(InputError::new(at("network.link_retry", key), why));
        if let Err((key, why)) = retry.validate(s.framing.on_wire().largest()) {
            return wrong(key, why);
        }
        if cuts {
            let why = "mutually exclusive with switch.cut_through, which forwards a frame before its end";
            return wrong("", Change::remove("network.link_retry").after(why));
        }
        if !s.probe.delays.is_none() {
            let why = "mutually exclusive with probe.delays, which has no part for link retries";
            return wrong("", Change::remove("probe.delays").after(why));
        }
        let changes = |fault: &Fault| fault.state.is_some() || fault.rate.is_some() || fault.delay.is_some();
        if let Some(i) = s.fault.iter().position(changes) {
            let why = "links with network.link_retry cannot go down or change";
            let change = Change::remove("network.link_retry");
            return Err(InputError::new(format!("fault[{i}]"), change.after(why)));
        }
    }
    let mechanisms = s.switch.mechanisms();
    for (i, fault) in s.fault.iter().enumerate() {
        let wrong = |key: &str, why: String| InputError::new(at(&format!("fault[{i}]"), key), why);
        fault.validate(MAX_START).map_err(|(key, why)| wrong(key, why))?;
        let flushes = (fault.state.is_some() && fault.queued == Queued::Flush).then_some("queued");
        let flushes = flushes.or(fault.node.as_ref().map(|_| "node"));
        if let Some(key) = flushes.filter(|_| s.switch.queueing == Queueing::Iq) {
            let why = "flushing needs per-output queues, and switch.queueing is iq";
            return Err(wrong(key, Change::set("switch.queueing", "oq").after(why)));
        }
        if let Some(key) = fault.rate.map(|_| "rate").or(fault.delay.map(|_| "delay")).filter(|_| cuts) {
            return Err(wrong(
                key,
                Change::remove("switch.cut_through").after("mutually exclusive with switch.cut_through"),
            ));
        }
        let loses = fault.bit_error_rate.map(|_| "bit_error_rate").or(fault.state.map(|_| "state"));
        for part in mechanisms.parts() {
            let why = match part.properties().if_frames_are_lost {
                Some((may_begin_anew, why)) if !may_begin_anew || fault.bit_error_rate.is_some() => why,
                _ => continue,
            };
            if let Some(key) = loses {
                return Err(wrong(key, format!("{} {why}", part.label())));
            }
        }
    }
    Ok(())
}

/// Checks the run and its probes.
fn run(s: &Scenario) -> Result<(), InputError> {
    let wrong = |path: &str, message: String| Err(InputError::new(path, message));
    if s.probe.size_classes.windows(2).any(|pair| pair[0] >= pair[1]) {
        return wrong("probe.size_classes", "sizes must rise from class to class".into());
    }
    if s.probe.queues.is_some_and(|q| q < Duration::ns(1)) {
        return wrong("probe.queues", "the interval must be 1ns or longer".into());
    }
    if s.probe.replay && s.probe.queues.is_some() {
        let why = "mutually exclusive with probe.queues, which also gives a replay";
        return wrong("probe.replay", Change::remove("probe.replay").after(why));
    }
    if s.seed > i64::MAX as u64 {
        // TOML has no larger integers, and every format must be able to hold a seed.
        return wrong(
            "seed",
            format!("{} is out of range; allowed are whole numbers from 0 to {}", s.seed, i64::MAX),
        );
    }
    if s.draws.is_some() && s.ties.is_none() {
        let why = "needs the relative order of ties, which finds the equal servers";
        return wrong("draws", Change::set("ties", "relative").after(why));
    }
    if s.until == Some(Moment::ZERO) {
        return wrong(
            "until",
            Change::remove("until").after("must be above zero; without it no event is left out"),
        );
    }
    if let Some(until) = s.until.filter(|until| *until > MAX_START) {
        return wrong("until", format!("{until} is too late; a simulation ends before {MAX_START}"));
    }
    if s.workload.len() > MAX_WORKLOADS {
        return wrong("workload", format!("{} are listed; {MAX_WORKLOADS} are possible", s.workload.len()));
    }
    let checked = s.workload.iter().enumerate().map(|(i, one)| one.check_python(&format!("workload[{i}]")));
    checked.collect::<Result<(), _>>()?;
    Ok(())
}

/// Checks the groups of classes and the pools of outputs of a shared buffer.
fn check_groups(shared: &buffer::Shared) -> Result<(), (String, String)> {
    let is_alpha = |alpha: Option<f64>| alpha.is_none_or(|a| a > 0.0 && a <= 1024.0);
    let range = "is out of range; allowed are numbers above 0 and up to 1024";
    let mut seen = 0_u8;
    for (n, group) in shared.groups.iter().enumerate() {
        if !is_alpha(group.alpha) {
            return Err((format!("groups[{n}].alpha"), range.into()));
        }
        for class in &group.classes {
            if *class > 7 || seen >> class & 1 != 0 {
                let why = format!("{class} is no class from 0 to 7, or in two groups; list a class once");
                return Err((format!("groups[{n}].classes"), why));
            }
            seen |= 1 << class;
        }
    }
    for (n, pool) in shared.egress.iter().enumerate() {
        if !is_alpha(pool.alpha) {
            return Err((format!("egress[{n}].alpha"), range.into()));
        }
        if pool.total.0 >= 1 << 40 {
            let why = format!("{} is out of range; must be below 1TB", pool.total);
            return Err((format!("egress[{n}].total"), why));
        }
    }
    Ok(())
}

/// Checks the memory of switches or relaying hosts.
fn check_buffer(table: &str, memory: &buffer::Params, largest: u64) -> Result<(), InputError> {
    let wrong = |key: &str, message: String| Err(InputError::new(format!("{table}.buffer.{key}"), message));
    match memory {
        buffer::Params::Unlimited => {}
        buffer::Params::PerPort(bytes) | buffer::Params::PerQueue(bytes) => {
            let key = if matches!(memory, buffer::Params::PerPort(_)) { "per_port" } else { "per_queue" };
            if bytes.0 < largest || bytes.0 >= 1 << 32 {
                return wrong(
                    key,
                    format!("{bytes} is out of range; must hold a packet of {largest} B and be below 4GiB"),
                );
            }
        }
        buffer::Params::Shared(shared) => {
            if !(shared.alpha > 0.0 && shared.alpha <= 1024.0) {
                return wrong(
                    "shared.alpha",
                    format!("{} is out of range; allowed are numbers above 0 and up to 1024", shared.alpha),
                );
            }
            if let Some(cell) = shared.cell
                && !(1..=1 << 16).contains(&cell.0)
            {
                return wrong("shared.cell", format!("{cell} is out of range; allowed are 1B to 64KiB"));
            }
            check_groups(shared).or_else(|(key, message)| wrong(&format!("shared.{key}"), message))?;
            if shared.total.0 < largest || shared.total.0 >= 1 << 40 {
                return wrong(
                    "shared.total",
                    format!("{} is out of range; must hold a packet and be below 1TB", shared.total),
                );
            }
        }
    }
    Ok(())
}
