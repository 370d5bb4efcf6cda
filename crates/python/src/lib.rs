//! `xoff._core`: glue between Python and the scenario layer, no logic.
//!
//! JSON texts cross the border, and tables as Arrow C streams. The simulation runs without the interpreter's
//! lock.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, UInt8Type, UInt16Type, UInt32Type,
    UInt64Type,
};
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BooleanArray, Float64Array, RecordBatch, StringArray, UInt8Array,
    UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::PyTable;
use xoff_engine::Plan;
use xoff_models::mechanisms::pause_response::Response;
use xoff_models::mechanisms::sizing::{PfcRequest, SfcRequest, size_pfc as pfc_size, size_sfc as sfc_size};
use xoff_models::network::plugins::Plugin;
use xoff_scenario::{Cells, Data, Input, InputErrors, Runner, Scenario, Table};

mod caller;
#[cfg(unix)]
mod controls;
mod panics;

use crate::caller::Caller;

create_exception!(
    _core,
    InputError,
    PyValueError,
    "Invalid input. The message names the key, the value and the allowed values."
);

create_exception!(
    _core,
    PluginError,
    PyRuntimeError,
    "A plug-in panicked. The message names the plug-in, the function and the place."
);

create_exception!(
    _core,
    CallError,
    PyRuntimeError,
    "A congestion control in Python failed. The arguments are the number of the class, the method, and the reason: the rest of a sentence, `late` or `ended`."
);

fn bad(error: impl std::fmt::Display) -> PyErr {
    InputError::new_err(error.to_string())
}

fn broken(error: impl std::fmt::Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// Returns the problem of a scenario as [`all_bad`] returns several.
fn refused(error: xoff_scenario::InputError) -> PyErr {
    all_bad(error.into())
}

/// Returns all problems of a document, also as a list of dictionaries in the attribute `errors`, each with the change that
/// its message proposes.
fn all_bad(errors: InputErrors) -> PyErr {
    let error = InputError::new_err(errors.to_string());
    let listed = Python::attach(|py| {
        let list = errors.0.into_iter().map(|e| {
            let dict = PyDict::new(py);
            dict.set_item("path", e.path)?;
            dict.set_item("message", e.message)?;
            dict.set_item("line", e.line)?;
            if let Some(change) = e.change {
                let text = serde_json::to_string(&change).map_err(broken)?;
                dict.set_item("change", py.import("json")?.call_method1("loads", (text,))?)?;
            }
            Ok(dict)
        });
        error.value(py).setattr("errors", list.collect::<PyResult<Vec<_>>>()?)
    });
    listed.err().unwrap_or(error)
}

fn scenario(resolved: &str) -> PyResult<Scenario> {
    panics::caught(|| xoff_scenario::from_json(resolved, &[]))?.map_err(all_bad)
}

/// The version of the simulator.
#[pyfunction]
fn version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}

/// The JSON Schema of scenarios.
#[pyfunction]
fn schema() -> PyResult<String> {
    panics::caught(|| format!("{:#}", xoff_scenario::schema()))
}

/// Returns the counts of each component, as JSON: the groups of a summary with labels and units.
#[pyfunction]
fn groups() -> PyResult<String> {
    serde_json::to_string(&panics::caught(xoff_scenario::groups)?).map_err(broken)
}

/// Returns components that need a mechanism of switches to act, as JSON: the mechanism by the name of the
/// component.
#[pyfunction]
fn listeners() -> PyResult<String> {
    serde_json::to_string(&xoff_scenario::listeners()).map_err(broken)
}

/// Returns the quanta of 512 bit times within which a station stops, with the rate in Mb/s (802.3, 31B.3.7).
#[pyfunction]
fn pause_quanta() -> Vec<(u64, u64)> {
    Response::limits().to_vec()
}

/// Returns the tables of a result, as JSON: the meaning of a row, and each column with type and meaning.
#[pyfunction]
fn tables() -> PyResult<String> {
    let column = |c: &xoff_scenario::Column| {
        let kind = format!("{}", array(&c.data).data_type());
        serde_json::json!({ "name": c.name, "type": kind, "maybe": is_maybe(&c.data), "meaning": c.meaning })
    };
    let list: Vec<_> = xoff_scenario::tables()
        .iter()
        .map(|t| serde_json::json!({ "name": t.name, "about": t.about, "columns": t.columns.iter().map(column).collect::<Vec<_>>() }))
        .collect();
    serde_json::to_string(&list).map_err(broken)
}

/// Returns the measures of the flows of a workload, as JSON: keys of its summary with types and meanings.
#[pyfunction]
fn measures() -> PyResult<String> {
    serde_json::to_string(&xoff_scenario::measures()).map_err(broken)
}

/// Reads a scenario, sets `overrides` and checks the result. Returns the scenario as JSON with every default,
/// and the tables named there: path of the key, file.
#[pyfunction]
#[allow(clippy::needless_pass_by_value, reason = "the interpreter passes owned values")]
fn resolve(
    text: &str,
    format: &str,
    overrides: Vec<(String, String)>,
) -> PyResult<(String, Vec<(String, String)>)> {
    let read = || match format {
        "toml" => xoff_scenario::from_toml(text, &overrides),
        _ => xoff_scenario::from_json(text, &overrides),
    };
    let scenario = panics::caught(read)?.map_err(all_bad)?;
    let written = panics::caught(|| serde_json::to_string(&scenario))?.map_err(broken)?;
    Ok((written, xoff_scenario::table_files(&scenario)))
}

fn numbers<T: ArrowPrimitiveType, V>(column: &ArrayRef, convert: impl Fn(T::Native) -> V) -> Vec<Option<V>> {
    column.as_primitive::<T>().iter().map(|v| v.map(&convert)).collect()
}

fn cells(column: &ArrayRef) -> Option<Cells> {
    Some(match column.data_type() {
        DataType::Int8 => Cells::Int(numbers::<Int8Type, _>(column, i64::from)),
        DataType::Int16 => Cells::Int(numbers::<Int16Type, _>(column, i64::from)),
        DataType::Int32 => Cells::Int(numbers::<Int32Type, _>(column, i64::from)),
        DataType::Int64 => Cells::Int(numbers::<Int64Type, _>(column, |v| v)),
        DataType::UInt8 => Cells::Int(numbers::<UInt8Type, _>(column, i64::from)),
        DataType::UInt16 => Cells::Int(numbers::<UInt16Type, _>(column, i64::from)),
        DataType::UInt32 => Cells::Int(numbers::<UInt32Type, _>(column, i64::from)),
        DataType::UInt64 => {
            Cells::Int(numbers::<UInt64Type, _>(column, |v| i64::try_from(v).unwrap_or(i64::MAX)))
        }
        DataType::Float32 => Cells::Float(numbers::<Float32Type, _>(column, f64::from)),
        DataType::Float64 => Cells::Float(numbers::<Float64Type, _>(column, |v| v)),
        DataType::Utf8 => {
            Cells::Text(column.as_string::<i32>().iter().map(|v| v.map(ToString::to_string)).collect())
        }
        DataType::LargeUtf8 => {
            Cells::Text(column.as_string::<i64>().iter().map(|v| v.map(ToString::to_string)).collect())
        }
        DataType::Utf8View => {
            Cells::Text(column.as_string_view().iter().map(|v| v.map(ToString::to_string)).collect())
        }
        DataType::Null => Cells::Text(vec![None; column.len()]),
        _ => return None,
    })
}

fn input(path: &str, table: PyTable) -> PyResult<Input> {
    let (batches, schema) = table.into_inner();
    let mut columns: Vec<(String, Cells)> = Vec::new();
    for (i, field) in schema.fields().iter().enumerate() {
        let mut all: Option<Cells> = None;
        for batch in &batches {
            let part = cells(batch.column(i)).ok_or_else(|| {
                bad(format!(
                    "{path}: column `{}` has type {}; allowed are numbers and text",
                    field.name(),
                    field.data_type()
                ))
            })?;
            all = Some(match (all, part) {
                (Some(Cells::Int(mut a)), Cells::Int(b)) => {
                    a.extend(b);
                    Cells::Int(a)
                }
                (Some(Cells::Float(mut a)), Cells::Float(b)) => {
                    a.extend(b);
                    Cells::Float(a)
                }
                (Some(Cells::Text(mut a)), Cells::Text(b)) => {
                    a.extend(b);
                    Cells::Text(a)
                }
                (_, part) => part,
            });
        }
        columns.push((field.name().clone(), all.unwrap_or(Cells::Text(Vec::new()))));
    }
    Ok(Input { columns })
}

fn inputs(tables: HashMap<String, PyTable>) -> PyResult<HashMap<String, Input>> {
    tables.into_iter().map(|(path, table)| Ok((path.clone(), input(&path, table)?))).collect()
}

fn array(data: &Data) -> ArrayRef {
    match data {
        Data::U64(v) => Arc::new(UInt64Array::from(v.clone())),
        Data::MaybeU64(v) => Arc::new(UInt64Array::from(v.clone())),
        Data::U32(v) => Arc::new(UInt32Array::from(v.clone())),
        Data::U16(v) => Arc::new(UInt16Array::from(v.clone())),
        Data::U8(v) => Arc::new(UInt8Array::from(v.clone())),
        Data::F64(v) => Arc::new(Float64Array::from(v.clone())),
        Data::MaybeF64(v) => Arc::new(Float64Array::from(v.clone())),
        Data::Name(ids, names) => {
            Arc::new(StringArray::from_iter_values(ids.iter().map(|i| names[*i as usize].as_str())))
        }
        Data::Static(v) => Arc::new(StringArray::from_iter_values(v.iter())),
        Data::MaybeBool(v) => Arc::new(BooleanArray::from(v.clone())),
        Data::MaybeU16(v) => Arc::new(UInt16Array::from(v.clone())),
        Data::MaybeU32(v) => Arc::new(UInt32Array::from(v.clone())),
        Data::MaybeName(ids, names) => {
            Arc::new(ids.iter().map(|i| i.map(|i| names[i as usize].as_str())).collect::<StringArray>())
        }
        Data::MaybeStatic(v) => Arc::new(v.iter().copied().collect::<StringArray>()),
        Data::MaybeText(v) => Arc::new(StringArray::from(v.clone())),
    }
}

/// True if cells may be null.
fn is_maybe(data: &Data) -> bool {
    !matches!(
        data,
        Data::U64(_)
            | Data::U32(_)
            | Data::U16(_)
            | Data::U8(_)
            | Data::F64(_)
            | Data::Name(..)
            | Data::Static(_)
    )
}

fn stream(table: &Table) -> PyResult<PyTable> {
    let arrays: Vec<ArrayRef> = table.columns.iter().map(|c| array(&c.data)).collect();
    let fields: Vec<Field> = table
        .columns
        .iter()
        .zip(&arrays)
        .map(|(c, a)| Field::new(c.name, a.data_type().clone(), is_maybe(&c.data)))
        .collect();
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(schema.clone(), arrays).map_err(broken)?;
    PyTable::try_new(vec![batch], schema).map_err(|e| broken(&e))
}

/// Results of one run.
#[pyclass(frozen)]
struct Output {
    /// The summary as JSON.
    #[pyo3(get)]
    summary: String,
    /// True for a run that the progress function ended early.
    #[pyo3(get)]
    was_stopped: bool,
    tables: Vec<Table>,
}

#[pymethods]
impl Output {
    /// Names of the tables.
    #[getter]
    fn tables(&self) -> Vec<&'static str> {
        self.tables.iter().map(|t| t.name).collect()
    }

    /// Returns a table as an object with an Arrow C stream of its rows.
    fn table(&self, name: &str) -> PyResult<PyTable> {
        let table = self.tables.iter().find(|t| t.name == name);
        stream(table.ok_or_else(|| PyValueError::new_err(format!("unknown table `{name}`")))?)
    }
}

/// Links the congestion controls in Python to the process at a socket.
#[cfg(unix)]
fn link(scenario: &mut Scenario, socket: &str, timeout: f64) -> PyResult<()> {
    let connection = controls::Connection::new(socket, timeout).map_err(broken)?;
    let session: Arc<dyn xoff_models::hosts::congestion_control::python::Session> = Arc::new(connection);
    scenario.host.link_python(&session);
    Ok(())
}

/// Refuses congestion controls in Python, as the system has no sockets with paths.
#[cfg(not(unix))]
fn link(_: &mut Scenario, _: &str, _: f64) -> PyResult<()> {
    Err(bad("Python functions need a system with fork, such as Linux or macOS"))
}

/// Runs a resolved scenario.
#[pyfunction]
#[pyo3(signature = (resolved, tables, threads, progress=None, sink=None, poll=None, window_ps=None, partitions=None, clusters=true, fast_forward=true, rows=true, python=None, fold=true))]
#[allow(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the interpreter passes owned values, by name"
)]
fn run(
    py: Python<'_>,
    resolved: &str,
    tables: HashMap<String, PyTable>,
    threads: usize,
    progress: Option<Py<PyAny>>,
    sink: Option<Py<PyAny>>,
    poll: Option<Py<PyAny>>,
    window_ps: Option<u64>,
    partitions: Option<usize>,
    clusters: bool,
    fast_forward: bool,
    rows: bool,
    python: Option<(String, f64)>,
    fold: bool,
) -> PyResult<Output> {
    let mut scenario = scenario(resolved)?;
    // Calls of one process wait for one another: more threads would only wait.
    let threads = if python.is_some() { 1 } else { threads };
    if let Some((socket, timeout)) = python {
        link(&mut scenario, &socket, timeout)?;
    }
    let mut tables = inputs(tables)?;
    let plan = Plan {
        threads,
        partitions,
        window: window_ps.map(xoff_units::Duration),
        clusters,
        fast_forward,
        fold,
        ..Plan::default()
    };
    let caller = Caller { progress, sink, poll, is_without_rows: !rows };
    let outcome = caller
        .wait_for(py, move |observer| Runner::new(scenario, |path| tables.remove(path))?.run(plan, observer))?
        .map_err(refused)?;
    let summary = serde_json::to_string(&outcome.summary).map_err(broken)?;
    Ok(Output { summary, was_stopped: outcome.was_stopped, tables: outcome.tables })
}

/// Checks a resolved scenario and returns a description, as JSON.
#[pyfunction]
fn check(py: Python<'_>, resolved: &str, tables: HashMap<String, PyTable>) -> PyResult<String> {
    let scenario = scenario(resolved)?;
    let mut tables = inputs(tables)?;
    let caller = Caller::default();
    let report = caller.wait_for(py, move |_| xoff_scenario::check(scenario, |path| tables.remove(path)))?;
    report.map(|v| v.to_string()).map_err(refused)
}

/// Returns a resolved scenario with all derived values, as JSON.
#[pyfunction]
fn settle(py: Python<'_>, resolved: &str, tables: HashMap<String, PyTable>) -> PyResult<String> {
    let scenario = scenario(resolved)?;
    let mut tables = inputs(tables)?;
    let settled = Caller::default()
        .wait_for(py, move |_| xoff_scenario::settle(scenario, |path| tables.remove(path)))?;
    settled.map(|v| v.to_string()).map_err(refused)
}

/// Returns the hosts of a resolved scenario, as JSON: names, rates and first switches, in the order of the numbers.
#[pyfunction]
fn hosts(py: Python<'_>, resolved: &str, tables: HashMap<String, PyTable>) -> PyResult<String> {
    let scenario = scenario(resolved)?;
    let mut tables = inputs(tables)?;
    let found = Caller::default()
        .wait_for(py, move |_| xoff_scenario::hosts(scenario, |path| tables.remove(path)))?;
    serde_json::to_string(&found.map_err(refused)?).map_err(broken)
}

fn request<T: serde::de::DeserializeOwned>(text: &str) -> PyResult<T> {
    xoff_scenario::request(text).map_err(bad)
}

/// PFC headroom; JSON in, JSON out.
#[pyfunction]
fn size_pfc(text: &str) -> PyResult<String> {
    serde_json::to_string(&pfc_size(&request::<PfcRequest>(text)?).map_err(bad)?).map_err(broken)
}

/// SFC headroom and pause range; JSON in, JSON out.
#[pyfunction]
fn size_sfc(text: &str) -> PyResult<String> {
    serde_json::to_string(&sfc_size(&request::<SfcRequest>(text)?).map_err(bad)?).map_err(broken)
}

/// Returns the plug-ins of the core, as JSON: name, version and parts.
#[pyfunction]
fn plugins() -> PyResult<String> {
    let list: Vec<_> = xoff_models::network::plugins::installed()
        .iter()
        .map(|plugin| {
            let parts: Vec<_> = plugin
                .parts()
                .map(|(path, about)| serde_json::json!({ "path": path, "about": about }))
                .collect();
            serde_json::json!({ "name": plugin.name, "version": plugin.version, "parts": parts })
        })
        .collect();
    serde_json::to_string(&list).map_err(broken)
}

/// Adds the functions of the core to a module, with plug-ins. A core with plug-ins calls this function from a module of
/// its own.
///
/// # Errors
///
/// The plug-ins cannot stand beside one another; see [`xoff_models::network::plugins::install`].
pub fn fill(module: &Bound<'_, PyModule>, plugins: Vec<&'static Plugin>) -> PyResult<()> {
    // A second interpreter of the process imports the module again.
    if !plugins.is_empty() && xoff_models::network::plugins::installed().is_empty() {
        xoff_models::network::plugins::install(plugins).map_err(PyRuntimeError::new_err)?;
        panics::watch();
    }
    module.add("InputError", module.py().get_type::<InputError>())?;
    module.add("CallError", module.py().get_type::<CallError>())?;
    module.add("PluginError", module.py().get_type::<PluginError>())?;
    module.add_class::<Output>()?;
    module.add_function(wrap_pyfunction!(version, module)?)?;
    module.add_function(wrap_pyfunction!(schema, module)?)?;
    module.add_function(wrap_pyfunction!(groups, module)?)?;
    module.add_function(wrap_pyfunction!(listeners, module)?)?;
    module.add_function(wrap_pyfunction!(pause_quanta, module)?)?;
    module.add_function(wrap_pyfunction!(tables, module)?)?;
    module.add_function(wrap_pyfunction!(measures, module)?)?;
    module.add_function(wrap_pyfunction!(resolve, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(check, module)?)?;
    module.add_function(wrap_pyfunction!(settle, module)?)?;
    module.add_function(wrap_pyfunction!(hosts, module)?)?;
    module.add_function(wrap_pyfunction!(size_pfc, module)?)?;
    module.add_function(wrap_pyfunction!(size_sfc, module)?)?;
    module.add_function(wrap_pyfunction!(self::plugins, module)?)?;
    Ok(())
}

/// The compiled simulator, without plug-ins.
#[cfg(feature = "module")]
#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    fill(module, Vec::new())
}
