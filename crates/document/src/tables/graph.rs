//! Tables of a job: operations and groups.

use std::str::FromStr;

use xoff_applications::workload::graph::{MAX_OPERATIONS, Params, Row};
use xoff_units::ParseQuantityError;

use super::cells::{Cells, Input, alone, missing};
use crate::error::InputError;

/// Inserts the rows of a table at the key of the job.
pub fn fill(graph: &mut Params, path: &str, table: &Input) -> Result<(), InputError> {
    table.bounded(path, MAX_OPERATIONS)?;
    if path.ends_with("groups_table") || path.ends_with(".python.groups") {
        alone(path, "groups", graph.groups.is_empty())?;
        table.allow(path, &["group", "rank"])?;
        let (group, rank) = (table.column(path, "group")?, table.column(path, "rank")?);
        for row in 0..table.rows() {
            let name = group.text(row).ok_or_else(|| missing(path, row, "group"))?;
            graph
                .groups
                .entry(name)
                .or_default()
                .push(whole(Some(rank), path, row, "rank")?.ok_or_else(|| missing(path, row, "rank"))?);
        }
        return Ok(());
    }
    alone(path, "operations", graph.operations.is_empty())?;
    table.allow(path, COLUMNS)?;
    let columns = Columns { table, path };
    graph.operations = (0..table.rows()).map(|row| columns.row(row)).collect::<Result<_, _>>()?;
    Ok(())
}

const COLUMNS: &[&str] = &[
    "rank",
    "kind",
    "name",
    "after",
    "stream",
    "unit",
    "iteration",
    "duration",
    "flop",
    "memory",
    "peer",
    "tag",
    "size",
    "group",
    "algorithm",
    "channels",
    "chunk",
    "server",
    "copies",
    "experts",
    "top_k",
    "combine",
    "overhead",
    "class",
    "label",
];

/// Returns a whole number; `None` for an empty cell.
fn whole(cells: Option<&Cells>, path: &str, row: usize, name: &str) -> Result<Option<u64>, InputError> {
    let Some(text) = cells.and_then(|cells| cells.text(row)) else { return Ok(None) };
    // A column with empty cells comes as numbers with a point.
    let text = text.trim().trim_end_matches(".0");
    let why = || {
        InputError::new(
            format!("{path}[{row}].{name}"),
            format!("`{text}` is not a whole number of zero or more"),
        )
    };
    text.parse().map(Some).map_err(|_| why())
}

/// The columns of a table of operations.
struct Columns<'a> {
    table: &'a Input,
    path: &'a str,
}

impl<'a> Columns<'a> {
    fn cells(&self, name: &str) -> Option<&'a Cells> {
        self.table.columns.iter().find(|c| c.0 == name).map(|c| &c.1)
    }

    fn wrong(&self, row: usize, name: &str, why: String) -> InputError {
        InputError::new(format!("{}[{row}].{name}", self.path), why)
    }

    fn text(&self, row: usize, name: &str) -> Option<String> {
        self.cells(name)?.text(row).map(|text| text.trim().to_string())
    }

    fn whole(&self, row: usize, name: &str) -> Result<Option<u64>, InputError> {
        whole(self.cells(name), self.path, row, name)
    }

    fn quantity<T: FromStr<Err = ParseQuantityError>>(
        &self,
        row: usize,
        name: &str,
        unit: &str,
    ) -> Result<Option<T>, InputError> {
        let cell = self.cells(name).and_then(|cells| cells.quantity(row, unit));
        cell.transpose().map_err(|why| self.wrong(row, name, why))
    }

    /// A cell that is true or false; false for an empty cell.
    fn flag(&self, row: usize, name: &str) -> Result<bool, InputError> {
        match self.text(row, name).unwrap_or_default().to_lowercase().as_str() {
            "" | "false" | "0" => Ok(false),
            "true" | "1" => Ok(true),
            other => Err(self.wrong(row, name, format!("`{other}` is no truth value; give true or false"))),
        }
    }

    /// A word of a list of choices.
    fn choice<T: serde::de::DeserializeOwned>(
        &self,
        row: usize,
        name: &str,
    ) -> Result<Option<T>, InputError> {
        let Some(word) = self.text(row, name) else { return Ok(None) };
        let found = serde_json::from_value(serde_json::Value::String(word));
        found.map(Some).map_err(|why| self.wrong(row, name, why.to_string().replace("variant", "choice")))
    }

    fn class(&self, row: usize) -> Result<Option<u8>, InputError> {
        let class = |number: u64| {
            let why = format!("{number} is out of range; classes are numbered 0 to 7");
            u8::try_from(number).map_err(|_| self.wrong(row, "class", why))
        };
        self.whole(row, "class")?.map(class).transpose()
    }

    fn row(&self, row: usize) -> Result<Row, InputError> {
        let lacks = |name: &str| missing(self.path, row, name);
        let flop = match self.text(row, "flop") {
            Some(text) => Some(
                text.parse::<f64>()
                    .map_err(|_| self.wrong(row, "flop", format!("`{text}` is not a number")))?,
            ),
            None => None,
        };
        let after = self.text(row, "after").unwrap_or_default();
        Ok(Row {
            rank: self.whole(row, "rank")?,
            kind: self.choice(row, "kind")?.ok_or_else(|| lacks("kind"))?,
            name: self.text(row, "name"),
            after: after
                .split(';')
                .map(str::trim)
                .filter(|name| !name.is_empty())
                .map(ToString::to_string)
                .collect(),
            stream: self.text(row, "stream"),
            unit: self.text(row, "unit"),
            iteration: self.whole(row, "iteration")?.unwrap_or(0),
            duration: self.quantity(row, "duration", "ps")?,
            flop,
            memory: self.quantity(row, "memory", "B")?,
            peer: self.whole(row, "peer")?,
            tag: self.whole(row, "tag")?.unwrap_or(0),
            size: self.quantity(row, "size", "B")?,
            group: self.text(row, "group"),
            algorithm: self.choice(row, "algorithm")?,
            channels: self.whole(row, "channels")?,
            chunk: self.quantity(row, "chunk", "B")?,
            server: self.whole(row, "server")?,
            copies: self.choice(row, "copies")?,
            experts: self.whole(row, "experts")?,
            top_k: self.whole(row, "top_k")?,
            combine: self.flag(row, "combine")?,
            overhead: self.quantity(row, "overhead", "ps")?,
            class: self.class(row)?,
            label: self.text(row, "label"),
        })
    }
}
