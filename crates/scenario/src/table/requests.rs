//! Tables of requests to a serving workload.

use xoff_models::workload::serving::{MAX_REQUESTS, Params, Row};

use super::cells::{Cells, Input, alone, missing};
use crate::error::InputError;

/// Inserts the rows of a table at the key of the requests.
pub fn fill(serving: &mut Params, path: &str, table: &Input) -> Result<(), InputError> {
    table.bounded(path, MAX_REQUESTS)?;
    alone(path, "requests", serving.requests.is_empty())?;
    table.allow(path, &["arrival", "input_tokens", "output_tokens", "cached_tokens"])?;
    let column = |name: &str| table.column(path, name);
    let (arrival, input, output) = (column("arrival")?, column("input_tokens")?, column("output_tokens")?);
    let cached = table.columns.iter().find(|one| one.0 == "cached_tokens").map(|one| &one.1);
    let at = |row: usize, name: &str, why: String| InputError::new(format!("{path}[{row}].{name}"), why);
    let whole = |cells: &Cells, row: usize, name: &str| -> Result<Option<u64>, InputError> {
        let Some(text) = cells.text(row) else { return Ok(None) };
        let wrong = |_| at(row, name, format!("`{text}` is no whole number"));
        text.parse().map(Some).map_err(wrong)
    };
    serving.requests = (0..table.rows())
        .map(|row| {
            Ok(Row {
                arrival: arrival
                    .quantity(row, "ps")
                    .ok_or_else(|| missing(path, row, "arrival"))?
                    .map_err(|why| at(row, "arrival", why))?,
                input_tokens: whole(input, row, "input_tokens")?
                    .ok_or_else(|| missing(path, row, "input_tokens"))?,
                output_tokens: whole(output, row, "output_tokens")?
                    .ok_or_else(|| missing(path, row, "output_tokens"))?,
                cached_tokens: match cached {
                    Some(cells) => whole(cells, row, "cached_tokens")?.unwrap_or(0),
                    None => 0,
                },
            })
        })
        .collect::<Result<_, InputError>>()?;
    if serving.requests.is_empty() {
        return Err(InputError::new(path, "the table has no request"));
    }
    Ok(())
}
