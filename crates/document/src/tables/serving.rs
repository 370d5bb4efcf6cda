//! Tables of a serving workload: requests, and measured computing times.

use xoff_applications::serving::Measured;
use xoff_applications::workload::serving::{MAX_REQUESTS, MAX_TIMES, Params, Row};

use super::cells::{Cells, Input, alone, missing};
use crate::error::InputError;

/// Inserts the rows of a table at the key that names the table.
pub fn fill(serving: &mut Params, path: &str, table: &Input) -> Result<(), InputError> {
    if path.ends_with("times_table") {
        alone(path, "times", serving.compute.times.is_empty())?;
        serving.compute.times = times(path, table)?;
    } else {
        alone(path, "requests", serving.requests.is_empty())?;
        serving.requests = requests(path, table)?;
    }
    Ok(())
}

fn wrong(path: &str, row: usize, name: &str, why: String) -> InputError {
    InputError::new(format!("{path}[{row}].{name}"), why)
}

/// Returns a whole number of a column, if the cell is not empty.
fn whole(path: &str, (name, cells): (&str, &Cells), row: usize) -> Result<Option<u64>, InputError> {
    let Some(text) = cells.text(row) else { return Ok(None) };
    let no_number = |_| wrong(path, row, name, format!("`{text}` is no whole number"));
    text.parse().map(Some).map_err(no_number)
}

/// A table with whole numbers and times.
struct Reader<'a> {
    path: &'a str,
    table: &'a Input,
}

impl Reader<'_> {
    fn whole(&self, name: &str, row: usize) -> Result<u64, InputError> {
        let cells = self.table.column(self.path, name)?;
        whole(self.path, (name, cells), row)?.ok_or_else(|| missing(self.path, row, name))
    }

    /// Returns a cell of a column that may be absent.
    fn optional(&self, name: &str, row: usize) -> Result<u64, InputError> {
        let cells = self.table.columns.iter().find(|one| one.0 == name).map(|one| &one.1);
        cells.map_or(Ok(0), |cells| Ok(whole(self.path, (name, cells), row)?.unwrap_or(0)))
    }

    fn time(&self, name: &str, row: usize) -> Result<xoff_units::Duration, InputError> {
        let cells = self.table.column(self.path, name)?;
        let found = cells.quantity(row, "ps").ok_or_else(|| missing(self.path, row, name))?;
        found.map_err(|why| wrong(self.path, row, name, why))
    }
}

fn requests(path: &str, table: &Input) -> Result<Vec<Row>, InputError> {
    table.bounded(path, MAX_REQUESTS)?;
    table.allow(path, &["arrival", "input_tokens", "output_tokens", "cached_tokens"])?;
    for name in ["arrival", "input_tokens", "output_tokens"] {
        table.column(path, name)?;
    }
    let reader = Reader { path, table };
    let of = |row| {
        Ok(Row {
            arrival: reader.time("arrival", row)?,
            input_tokens: reader.whole("input_tokens", row)?,
            output_tokens: reader.whole("output_tokens", row)?,
            cached_tokens: reader.optional("cached_tokens", row)?,
        })
    };
    let found = (0..table.rows()).map(of).collect::<Result<Vec<_>, InputError>>()?;
    if found.is_empty() {
        return Err(InputError::new(path, "the table has no request"));
    }
    Ok(found)
}

fn times(path: &str, table: &Input) -> Result<Vec<Measured>, InputError> {
    table.bounded(path, MAX_TIMES)?;
    table.allow(path, &["part", "tokens", "context_tokens", "time"])?;
    for name in ["part", "tokens", "time"] {
        table.column(path, name)?;
    }
    let reader = Reader { path, table };
    let of = |row| {
        let part = table.column(path, "part")?.text(row).ok_or_else(|| missing(path, row, "part"))?;
        let known = serde_json::from_value(serde_json::Value::String(part.clone()));
        let allowed = "attention, network, shared_experts, experts, head";
        let unknown = |_| wrong(path, row, "part", format!("unknown part `{part}`; allowed are {allowed}"));
        Ok(Measured {
            part: known.map_err(unknown)?,
            tokens: reader.whole("tokens", row)?,
            context_tokens: reader.optional("context_tokens", row)?,
            time: reader.time("time", row)?,
        })
    };
    let found = (0..table.rows()).map(of).collect::<Result<Vec<_>, InputError>>()?;
    if found.is_empty() {
        return Err(InputError::new(path, "the table has no row"));
    }
    Ok(found)
}
