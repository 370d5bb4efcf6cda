//! Derived defaults of hosts: values that follow from the network, and values of presets.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value, json};
use xoff_document::{Input, InputError, Scenario, table_files};
use xoff_models::network::Lines;
use xoff_units::{Rate, index};

use crate::runner::Runner;

/// A parameter without a given value, and its derived value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settled {
    /// Path of the parameter.
    key: String,
    /// Value in the form of a scenario.
    value: Value,
    /// Line of the value; for a transport, the fastest host.
    line: String,
}

/// Returns the kinds of hosts, each once, in the order of hosts: the index of the stack, and the rates of the
/// ports.
fn kinds(runner: &Runner) -> Vec<(usize, Vec<Rate>)> {
    let mut found = Vec::new();
    for host in runner.topology.hosts() {
        let rates: Vec<Rate> = runner.ports[index(host)].iter().map(|p| p.link.rate).collect();
        let kind = (runner.settings.stacks.place(index(host)), rates);
        if !found.contains(&kind) {
            found.push(kind);
        }
    }
    found
}

/// A table of a host: parts by name.
type Parts = Map<String, Value>;

fn table(value: impl Serialize) -> Parts {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// A table of hosts: the name, the number of the override, the given values, and the settled values at lines.
struct HostTable {
    name: &'static str,
    of: Option<usize>,
    given: Parts,
    settled: Vec<(Rate, Parts)>,
}

/// The tables of hosts of a stack, as JSON: the transport at the fastest line of a host, and congestion controls at
/// each line.
fn tables(runner: &Runner, lines: &Lines, (place, rates): &(usize, Vec<Rate>)) -> Vec<HostTable> {
    let stack = &runner.settings.stacks.list()[*place];
    let (transport, controls) = lines.settled(rates, stack);
    let fastest = rates.iter().copied().max().unwrap_or_default();
    let mut found = vec![HostTable {
        name: "transport",
        of: stack.of[0],
        given: table(&stack.transport),
        settled: vec![(fastest, table(transport))],
    }];
    for ((of, given), settled) in stack.controls().into_iter().zip(controls) {
        let settled = settled.into_iter().map(|(rate, control)| (rate, table(control))).collect();
        found.push(HostTable { name: "congestion_control", of, given: table(given), settled });
    }
    found
}

impl HostTable {
    fn path(&self) -> String {
        self.of.map_or(format!("host.{}", self.name), |i| format!("host.overrides[{i}].{}", self.name))
    }
}

/// Returns all derived values, for each kind of host.
pub fn settled(runner: &Runner) -> Vec<Settled> {
    let lines = Lines::new(&runner.topology, &runner.ports, &runner.settings);
    let mut list = Vec::new();
    for kind in kinds(runner) {
        for one in tables(runner, &lines, &kind) {
            let path = one.path();
            let HostTable { given, settled, .. } = one;
            for (rate, part, parameters) in
                settled.into_iter().flat_map(|(rate, parts)| parts.into_iter().map(move |p| (rate, p.0, p.1)))
            {
                let known = given.get(&part).and_then(Value::as_object);
                for (key, value) in parameters.as_object().into_iter().flatten() {
                    let row = Settled {
                        key: format!("{path}.{part}.{key}"),
                        value: value.clone(),
                        line: rate.to_string(),
                    };
                    if known.is_none_or(|known| known.get(key) != Some(value)) && !list.contains(&row) {
                        list.push(row);
                    }
                }
            }
        }
    }
    list
}

/// Returns a scenario with all derived values, as JSON.
pub fn settle(scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Value, InputError> {
    Ok(filled(&Runner::new(scenario, tables)?))
}

/// Returns the scenario with derived values as JSON. Values that differ between hosts of different lines are
/// left out.
fn filled(runner: &Runner) -> Value {
    let scenario: &Scenario = runner.scenario();
    let lines = Lines::new(&runner.topology, &runner.ports, &runner.settings);
    let mut filled = json!(scenario);
    // The rows of tables stand in the document.
    for (path, _) in table_files(scenario) {
        let (parent, key) = path.rsplit_once('.').unwrap_or(("", &path));
        let pointer = format!("/{}", parent.replace('[', "/").replace(']', "").replace('.', "/"));
        if let Some(table) = filled.pointer_mut(&pointer).and_then(Value::as_object_mut) {
            table.remove(key);
        }
    }
    // Each table of the scenario with all hosts of the table.
    let mut all: BTreeMap<(&str, Option<usize>), Vec<Parts>> = BTreeMap::new();
    for kind in kinds(runner) {
        for HostTable { name, of, settled, .. } in tables(runner, &lines, &kind) {
            all.entry((name, of)).or_default().extend(settled.into_iter().map(|(_, parts)| parts));
        }
    }
    for ((name, of), settled) in all {
        let is_common = |part: &str, key: &str, value: &Value| {
            settled.iter().all(|other| other[part].get(key) == Some(value))
        };
        for (part, parameters) in &settled[0] {
            for (key, value) in parameters
                .as_object()
                .into_iter()
                .flatten()
                .filter(|(key, value)| is_common(part, key, value))
            {
                let table = match of {
                    Some(i) => &mut filled["host"]["overrides"][i][name],
                    None => &mut filled["host"][name],
                };
                table[part][key] = value.clone();
            }
        }
    }
    filled
}
