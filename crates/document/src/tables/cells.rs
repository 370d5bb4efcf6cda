//! Columns of an input table.

use crate::error::InputError;
use xoff_units::wide;

/// Cells of an input table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cells {
    /// Whole numbers.
    Int(Vec<Option<i64>>),
    /// Numbers.
    Float(Vec<Option<f64>>),
    /// Text.
    Text(Vec<Option<String>>),
}

/// An input table, with the path of the key that named the file.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Input {
    /// Columns by name.
    pub columns: Vec<(String, Cells)>,
}

impl Input {
    pub(super) fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| match &c.1 {
            Cells::Int(v) => v.len(),
            Cells::Float(v) => v.len(),
            Cells::Text(v) => v.len(),
        })
    }

    pub(super) fn column(&self, path: &str, name: &str) -> Result<&Cells, InputError> {
        self.columns.iter().find(|c| c.0 == name).map(|c| &c.1).ok_or_else(|| {
            let have: Vec<_> = self.columns.iter().map(|c| c.0.as_str()).collect();
            InputError::new(
                path,
                format!("the table has no column `{name}`; columns are {}", have.join(", ")),
            )
        })
    }

    /// Refuses tables with more rows than a scenario may have, before copying.
    pub(super) fn bounded(&self, path: &str, most: u64) -> Result<(), InputError> {
        match wide(self.rows()) {
            rows if rows > most => {
                Err(InputError::new(path, format!("the table has {rows} rows; the maximum is {most}")))
            }
            _ => Ok(()),
        }
    }

    /// Refuses unknown columns, and thereby misspelt names.
    pub(super) fn allow(&self, path: &str, names: &[&str]) -> Result<(), InputError> {
        match self.columns.iter().find(|c| !names.contains(&c.0.as_str())) {
            Some(c) => Err(InputError::new(
                path,
                format!("unknown column `{}`; allowed are {}", c.0, names.join(", ")),
            )),
            None => Ok(()),
        }
    }
}

impl Cells {
    /// Returns a cell as text; whole numbers without change.
    pub(super) fn text(&self, row: usize) -> Option<String> {
        match self {
            Self::Int(v) => v[row].map(|n| n.to_string()),
            Self::Float(v) => v[row].map(|n| n.to_string()),
            Self::Text(v) => v[row].clone().filter(|t| !t.trim().is_empty()),
        }
    }

    pub(super) fn number(&self, row: usize) -> Option<f64> {
        match self {
            Self::Int(v) => v[row].map(|n| n as f64),
            Self::Float(v) => v[row],
            Self::Text(v) => v[row].as_ref().and_then(|t| t.trim().parse().ok()),
        }
    }

    /// A quantity: text with a unit, or a bare number in base units (bytes, picoseconds).
    pub(super) fn quantity<T: std::str::FromStr<Err = xoff_units::ParseQuantityError>>(
        &self,
        row: usize,
        unit: &str,
    ) -> Option<Result<T, String>> {
        match self {
            Self::Int(v) => v[row].map(|n| format!("{n}{unit}").parse::<T>().map_err(|e| e.to_string())),
            Self::Float(v) => v[row].map(|n| format!("{n}{unit}").parse::<T>().map_err(|e| e.to_string())),
            Self::Text(_) => {
                let text = self.text(row)?;
                let bare = text.trim().bytes().all(|b| b.is_ascii_digit());
                Some(
                    if bare { format!("{}{unit}", text.trim()) } else { text }
                        .parse::<T>()
                        .map_err(|e| e.to_string()),
                )
            }
        }
    }
}

pub(super) fn missing(path: &str, row: usize, name: &str) -> InputError {
    InputError::new(format!("{path}[{row}].{name}"), "the cell is empty")
}

/// Refuses a list together with a table of the same data.
pub(super) fn alone(path: &str, list: &str, is_alone: bool) -> Result<(), InputError> {
    if is_alone {
        Ok(())
    } else {
        Err(InputError::new(path, format!("mutually exclusive with `{list}`; remove one of the two")))
    }
}
