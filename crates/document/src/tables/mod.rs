//! Tables that fill a document, as plain columns without Arrow. The crate therefore needs no file formats.

mod cells;
mod graph;
mod serving;

use xoff_models::paths::topology::MAX_NODES;
use xoff_models::paths::topology::explicit::{Edge, Node};
use xoff_models::traffic::workload::{Flow, Host, MAX_LISTED};

pub use self::cells::{Cells, Input};
use self::cells::{alone, missing};
use crate::document::Scenario;
use crate::error::InputError;

/// Returns the files that a scenario names, as path of the key and file. The rows of a Python function that was not
/// called have no file: the name is empty.
pub fn table_files(s: &Scenario) -> Vec<(String, String)> {
    let mut list = Vec::new();
    if let Some(explicit) = &s.network.explicit {
        let both = [("nodes_table", &explicit.nodes_table), ("links_table", &explicit.links_table)];
        list.extend(
            both.iter().filter_map(|(k, f)| f.as_ref().map(|f| (format!("network.explicit.{k}"), f.clone()))),
        );
    }
    for (i, w) in s.workload.iter().enumerate() {
        if let Some(python) = &w.python {
            list.push((format!("workload[{i}].python.rows"), python.rows.clone().unwrap_or_default()));
            list.extend(python.groups.clone().map(|file| (format!("workload[{i}].python.groups"), file)));
        }
        if let Some(file) = &w.table {
            list.push((format!("workload[{i}].table"), file.clone()));
        }
        if let Some(file) = w.poisson.as_ref().and_then(|p| p.cdf_file.as_ref()) {
            list.push((format!("workload[{i}].poisson.cdf_file"), file.clone()));
        }
        if let Some(serving) = &w.serving {
            let both = [
                ("requests_table", &serving.requests_table),
                ("compute.times_table", &serving.compute.times_table),
            ];
            list.extend(
                both.iter().filter_map(|(k, f)| {
                    f.as_ref().map(|f| (format!("workload[{i}].serving.{k}"), f.clone()))
                }),
            );
        }
        if let Some(graph) = &w.graph {
            let both = [("operations_table", &graph.operations_table), ("groups_table", &graph.groups_table)];
            list.extend(
                both.iter()
                    .filter_map(|(k, f)| f.as_ref().map(|f| (format!("workload[{i}].graph.{k}"), f.clone()))),
            );
        }
    }
    list
}

/// Inserts the rows of tables at the keys that name the tables.
pub fn fill(s: &mut Scenario, mut tables: impl FnMut(&str) -> Option<Input>) -> Result<(), InputError> {
    fill_network(s, &mut tables)?;
    for (path, file) in table_files(s) {
        if path.starts_with(OF_NETWORK) {
            continue;
        }
        let table = tables(&path).ok_or_else(|| not_given(s, &path, &file))?;
        let index = workload_of(&path);
        if path.ends_with("cdf_file") {
            table.allow(&path, &["bytes", "percent"])?;
            let (bytes, percent) = (table.column(&path, "bytes")?, table.column(&path, "percent")?);
            let points = (0..table.rows())
                .map(|r| {
                    Ok((
                        bytes.number(r).ok_or_else(|| missing(&path, r, "bytes"))?,
                        percent.number(r).ok_or_else(|| missing(&path, r, "percent"))?,
                    ))
                })
                .collect::<Result<Vec<_>, InputError>>()?;
            if let Some(poisson) = &mut s.workload[index].poisson {
                alone(&path, "cdf", poisson.cdf.is_none())?;
                poisson.cdf = Some(points);
            }
        } else if let Some(graph) = s.workload[index]
            .graph
            .as_mut()
            .filter(|_| path.contains("].graph.") || path.contains("].python."))
        {
            // Beside a job, the rows of a function are operations.
            graph::fill(graph, &path, &table)?;
        } else if let Some(serving) =
            s.workload[index].serving.as_mut().filter(|_| path.contains("].serving."))
        {
            serving::fill(serving, &path, &table)?;
        } else {
            alone(&path, "flows", s.workload[index].flows.is_none())?;
            table.bounded(&path, MAX_LISTED)?;
            s.workload[index].flows = Some(flows(&path, &table)?);
        }
    }
    called_groups(s, &mut tables)
}

/// Inserts the groups of jobs that functions returned; these have no file.
fn called_groups(s: &mut Scenario, tables: &mut impl FnMut(&str) -> Option<Input>) -> Result<(), InputError> {
    for (i, w) in s.workload.iter_mut().enumerate() {
        let path = format!("workload[{i}].python.groups");
        let is_called = w.python.as_ref().is_some_and(|python| python.groups.is_none());
        if let (true, Some(graph)) = (is_called, &mut w.graph)
            && let Some(table) = tables(&path)
        {
            graph::fill(graph, &path, &table)?;
        }
    }
    Ok(())
}

/// Start of the paths of tables of the network.
const OF_NETWORK: &str = "network.explicit.";

/// Inserts the rows of the network's tables, without which no host is known.
pub fn fill_network(
    s: &mut Scenario,
    tables: &mut impl FnMut(&str) -> Option<Input>,
) -> Result<(), InputError> {
    for (path, file) in table_files(s) {
        let Some(rest) = path.strip_prefix(OF_NETWORK) else { continue };
        let table = tables(&path).ok_or_else(|| not_given(s, &path, &file))?;
        let Some(explicit) = &mut s.network.explicit else { continue };
        if rest == "nodes_table" {
            alone(&path, "nodes", explicit.nodes.is_empty())?;
            table.bounded(&path, MAX_NODES)?;
            explicit.nodes = nodes(&path, &table)?;
        } else {
            alone(&path, "links", explicit.links.is_empty())?;
            table.bounded(&path, 4 * MAX_NODES)?;
            explicit.links = links(&path, &table)?;
        }
    }
    Ok(())
}

/// Returns the number of the workload in a path.
fn workload_of(path: &str) -> usize {
    path.trim_start_matches("workload[").split(']').next().and_then(|i| i.parse().ok()).unwrap_or(0)
}

/// Returns the error on a missing table.
fn not_given(s: &Scenario, path: &str, file: &str) -> InputError {
    let Some(at) = path.strip_suffix(".rows").filter(|_| file.is_empty()) else {
        return InputError::new(path, format!("the table `{file}` was not given"));
    };
    let function = s.workload[workload_of(path)].python.as_ref().map_or("", |python| &python.function);
    InputError::new(at, format!("`{function}` was not called; `xoff run --allow-python` calls the function"))
}

fn host(cells: &Cells, row: usize) -> Option<Host> {
    let text = cells.text(row)?;
    Some(text.parse::<u64>().map_or(Host::Name(text), Host::Number))
}

fn flows(path: &str, table: &Input) -> Result<Vec<Flow>, InputError> {
    table.allow(path, &["src", "dst", "size", "start", "id", "after", "via"])?;
    let (src, dst, size) =
        (table.column(path, "src")?, table.column(path, "dst")?, table.column(path, "size")?);
    let optional = |name: &str| table.columns.iter().find(|c| c.0 == name).map(|c| &c.1);
    let (start, id, after, via) = (optional("start"), optional("id"), optional("after"), optional("via"));
    let list = |cells: Option<&Cells>, row: usize| -> Vec<String> {
        let text = cells.and_then(|c| c.text(row)).unwrap_or_default();
        text.split(';').map(str::trim).filter(|t| !t.is_empty()).map(ToString::to_string).collect()
    };
    (0..table.rows())
        .map(|r| {
            let at = |name: &str, why: String| InputError::new(format!("{path}[{r}].{name}"), why);
            Ok(Flow {
                src: host(src, r).ok_or_else(|| missing(path, r, "src"))?,
                dst: host(dst, r).ok_or_else(|| missing(path, r, "dst"))?,
                size: size
                    .quantity(r, "B")
                    .ok_or_else(|| missing(path, r, "size"))?
                    .map_err(|e| at("size", e))?,
                start: start
                    .and_then(|s| s.quantity(r, "ps"))
                    .transpose()
                    .map_err(|e| at("start", e))?
                    .unwrap_or_default(),
                id: id.and_then(|c| c.text(r)),
                after: list(after, r),
                via: list(via, r),
            })
        })
        .collect()
}

fn nodes(path: &str, table: &Input) -> Result<Vec<Node>, InputError> {
    table.allow(path, &["name", "kind", "delay"])?;
    let (name, kind) = (table.column(path, "name")?, table.column(path, "kind")?);
    let delay = table.columns.iter().find(|c| c.0 == "delay").map(|c| &c.1);
    (0..table.rows())
        .map(|r| {
            let kind = kind.text(r).ok_or_else(|| missing(path, r, "kind"))?;
            let role = serde_json::from_value(serde_json::Value::String(kind.clone())).map_err(|_| {
                InputError::new(
                    format!("{path}[{r}].kind"),
                    format!("unknown kind `{kind}`; allowed are host, switch, relay"),
                )
            })?;
            let delay = delay.and_then(|d| d.quantity(r, "ps")).transpose();
            Ok(Node {
                name: name.text(r).ok_or_else(|| missing(path, r, "name"))?,
                kind: role,
                delay: delay.map_err(|e| InputError::new(format!("{path}[{r}].delay"), e))?,
            })
        })
        .collect()
}

fn links(path: &str, table: &Input) -> Result<Vec<Edge>, InputError> {
    table.allow(path, &["a", "b", "rate", "delay"])?;
    let column = |name: &str| table.column(path, name);
    let (a, b, rate, delay) = (column("a")?, column("b")?, column("rate")?, column("delay")?);
    (0..table.rows())
        .map(|r| {
            let at = |name: &str, why: String| InputError::new(format!("{path}[{r}].{name}"), why);
            Ok(Edge {
                a: a.text(r).ok_or_else(|| missing(path, r, "a"))?,
                b: b.text(r).ok_or_else(|| missing(path, r, "b"))?,
                rate: rate
                    .quantity(r, "bps")
                    .ok_or_else(|| missing(path, r, "rate"))?
                    .map_err(|e| at("rate", e))?,
                delay: delay
                    .quantity(r, "ps")
                    .ok_or_else(|| missing(path, r, "delay"))?
                    .map_err(|e| at("delay", e))?,
            })
        })
        .collect()
}
