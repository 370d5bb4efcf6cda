//! The core for a browser: a TOML document in, summary and tables as JSON out. No logic.
//!
//! `make playground` compiles this crate to WebAssembly. The functions of the border are in `border`. A
//! browser has one thread, no files and no environment: a run uses one thread, and a scenario that names
//! tables in files is refused.

#[cfg(target_family = "wasm")]
mod border;

use std::ops::ControlFlow;

use serde_json::{Value, json};
use xoff_engine::Plan;
use xoff_scenario::{Data, InputError, InputErrors, Observer, Outcome, Progress, Runner, Table, table_files};

/// Calls a function with the progress of a run.
struct Reports<F>(F);

impl<F: FnMut(Progress)> Observer for Reports<F> {
    fn progress(&mut self, progress: Progress) -> ControlFlow<()> {
        (self.0)(progress);
        ControlFlow::Continue(())
    }
    fn takes_rows(&self) -> bool {
        false
    }
    fn rows(&mut self, _: Table) {}
}

/// Runs the scenario of a TOML document.
///
/// `progress` is called at most ten times a second. Errors list every problem of the document, each with
/// path, message and line.
pub fn run(text: &str, progress: impl FnMut(Progress)) -> Result<Outcome, InputErrors> {
    let scenario = xoff_scenario::from_toml(text, &[])?;
    if let Some((path, file)) = table_files(&scenario).into_iter().next() {
        let why = format!(
            "a browser cannot read the table `{file}`; list the rows in the document, or run xoff itself"
        );
        return Err(InputError::new(path, why).into());
    }
    let plan = Plan { threads: 1, ..Plan::default() };
    Ok(Runner::new(scenario, |_| None)?.run(plan, &mut Reports(progress))?)
}

/// Returns the answer to a run: `{"summary", "tables"}` with the names of the tables, or `{"errors"}` with
/// path, message and line of each problem.
pub fn answer(outcome: &Result<Outcome, InputErrors>) -> Value {
    match outcome {
        Ok(outcome) => {
            let names: Vec<_> = outcome.tables.iter().map(|table| table.name).collect();
            json!({ "summary": outcome.summary, "tables": names })
        }
        Err(errors) => {
            let one = |e: &InputError| json!({ "path": e.path, "message": e.message, "line": e.line, "text": e.to_string() });
            json!({ "errors": errors.0.iter().map(one).collect::<Vec<_>>() })
        }
    }
}

/// Returns the columns of a table by name; an empty object for an unknown table.
pub fn columns(outcome: &Outcome, name: &str) -> Value {
    let table = outcome.tables.iter().find(|table| table.name == name);
    let cells = table.into_iter().flat_map(|table| &table.columns);
    Value::Object(cells.map(|column| (column.name.to_string(), cells_of(&column.data))).collect())
}

fn cells_of(data: &Data) -> Value {
    match data {
        Data::U64(v) => json!(v),
        Data::MaybeU64(v) => json!(v),
        Data::U32(v) => json!(v),
        Data::U16(v) => json!(v),
        Data::U8(v) => json!(v),
        Data::F64(v) => json!(v),
        Data::MaybeF64(v) => json!(v),
        Data::Static(v) => json!(v),
        Data::MaybeU16(v) => json!(v),
        Data::MaybeBool(v) => json!(v),
        Data::MaybeU32(v) => json!(v),
        Data::MaybeStatic(v) => json!(v),
        Data::MaybeText(v) => json!(v),
        Data::Name(ids, names) => ids.iter().map(|id| names[*id as usize].as_str()).collect(),
        Data::MaybeName(ids, names) => {
            ids.iter().map(|id| id.map(|id| names[id as usize].as_str())).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_HOSTS: &str = r#"
        [network.star]
        hosts = 2
        link = { rate = "100Gbps", delay = "1us" }
        [[workload]]
        name = "one"
        flows = [{ id = "first", src = 0, dst = 1, size = "10KB" }]
    "#;

    #[test]
    fn a_run_answers_with_summary_and_columns() {
        let outcome = run(TWO_HOSTS, |_| ());
        let said = answer(&outcome);
        assert_eq!(said["summary"]["flows"]["completed"], 1, "{said:#}");
        assert!(said["tables"].as_array().unwrap().contains(&json!("flows")));
        let flows = columns(&outcome.unwrap(), "flows");
        assert_eq!((&flows["label"], &flows["size_bytes"]), (&json!(["first"]), &json!([10_000])));
    }

    #[test]
    fn bad_values_answer_with_all_errors_of_the_core() {
        let text = TWO_HOSTS.replace("100Gbps", "fast").replace("10KB", "-1");
        let said = answer(&run(&text, |_| ()));
        let native = xoff_scenario::from_toml(&text, &[]).unwrap_err();
        let texts: Vec<_> = said["errors"].as_array().unwrap().iter().map(|e| e["text"].clone()).collect();
        assert_eq!(texts, native.0.iter().map(|e| json!(e.to_string())).collect::<Vec<_>>());
        assert_eq!(said["errors"][0]["line"], 4);
    }

    #[test]
    fn tables_in_files_are_refused() {
        let text = TWO_HOSTS
            .replace("flows = [{ id = \"first\", src = 0, dst = 1, size = \"10KB\" }]", "table = \"f.csv\"");
        let said = answer(&run(&text, |_| ()));
        assert_eq!(said["errors"][0]["path"], "workload[0].table");
        assert!(said["errors"][0]["message"].as_str().unwrap().contains("f.csv"));
    }
}
