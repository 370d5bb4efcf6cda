//! What the parameters of hosts stand for: defaults that follow from the network, and the values of presets.

use serde::Serialize;
use serde_json::{Map, Value, json};
use xoff_models::network::Lines;
use xoff_units::{Rate, index};

use crate::document::Scenario;
use crate::error::InputError;
use crate::runner::Runner;
use crate::table::Input;

/// A parameter that was not given, and what it is.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Settled {
    /// Its path.
    key: String,
    /// Its value, as a scenario has it.
    value: Value,
    /// The fastest line of the hosts that it is for.
    line: String,
}

/// Rates of the ports of hosts, each set once, in the order of hosts.
fn interfaces(runner: &Runner) -> Vec<Vec<Rate>> {
    let mut found: Vec<Vec<Rate>> = Vec::new();
    for host in runner.topology.hosts() {
        let rates: Vec<Rate> = runner.ports[index(host)].iter().map(|p| p.link.rate).collect();
        if !found.contains(&rates) {
            found.push(rates);
        }
    }
    found
}

fn table(value: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(value) {
        Ok(Value::Object(map)) => map,
        _ => Map::new(),
    }
}

/// Both tables of hosts at a line, as JSON.
fn tables(runner: &Runner, lines: Lines, rates: &[Rate]) -> [(&'static str, Map<String, Value>); 2] {
    let (transport, control) = lines.settled(rates, &runner.settings);
    [("transport", table(transport)), ("congestion_control", table(control))]
}

/// All that was not given, for each kind of host.
pub fn settled(runner: &Runner) -> Vec<Settled> {
    let lines = Lines::new(&runner.topology, &runner.ports, &runner.settings);
    let mut list = Vec::new();
    for rates in interfaces(runner) {
        let line = rates.iter().copied().max().unwrap_or_default().to_string();
        let given = [table(&runner.settings.transport), table(&runner.settings.congestion_control)];
        for ((name, settled), given) in tables(runner, lines, &rates).into_iter().zip(given) {
            for (part, parameters) in settled {
                let known = given.get(&part).and_then(Value::as_object);
                for (key, value) in parameters.as_object().into_iter().flatten() {
                    if known.is_none_or(|known| known.get(key) != Some(value)) {
                        list.push(Settled { key: format!("host.{name}.{part}.{key}"), value: value.clone(), line: line.clone() });
                    }
                }
            }
        }
    }
    list
}

/// A scenario with all that its network settles, as JSON.
pub fn settle(scenario: Scenario, tables: impl FnMut(&str) -> Option<Input>) -> Result<Value, InputError> {
    Ok(filled(&Runner::new(scenario, tables)?))
}

/// The scenario with them in it, as JSON; what hosts at several lines do not agree on is left out.
fn filled(runner: &Runner) -> Value {
    let scenario: &Scenario = runner.scenario();
    let lines = Lines::new(&runner.topology, &runner.ports, &runner.settings);
    let mut filled = json!(scenario);
    let all: Vec<_> = interfaces(runner).iter().map(|rates| tables(runner, lines, rates)).collect();
    let Some((first, others)) = all.split_first() else { return filled };
    for (place, (name, settled)) in first.iter().enumerate() {
        let is_common = |part: &str, key: &str, value: &Value| others.iter().all(|other| other[place].1[part].get(key) == Some(value));
        for (part, parameters) in settled {
            for (key, value) in parameters.as_object().into_iter().flatten() {
                if is_common(part, key, value) {
                    filled["host"][name][part][key] = value.clone();
                }
            }
        }
    }
    filled
}
