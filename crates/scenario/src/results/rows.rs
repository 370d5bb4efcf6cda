//! Rows of tables, and sets of tables that a collector fills.

use xoff_models::records::table::{Column, Data, Table};
use xoff_units::Moment;

use super::names::Names;

/// Returns a column of times.
pub fn times(t: impl Iterator<Item = Moment>) -> Data {
    Data::U64(t.map(Moment::ps).collect())
}

/// A row of a table.
pub trait Row: Sized {
    /// The table's name.
    const TABLE: &'static str;
    /// Meaning of a row.
    const ABOUT: &'static str;

    /// Returns the columns of the rows.
    fn columns(rows: &[Self], names: &Names) -> Vec<Column>;

    /// Returns the table of the rows.
    fn table(rows: &[Self], names: &Names) -> Table {
        Table { name: Self::TABLE, about: Self::ABOUT, columns: Self::columns(rows, names) }
    }
}

/// The tables of a collector, with rows not yet handed on.
pub trait RowSet: Default {
    /// Hands on each table with at least `least` rows.
    fn hand_on(&mut self, least: usize, names: &Names, take: &mut dyn FnMut(Table));
}

/// A collector without a table.
impl RowSet for () {
    fn hand_on(&mut self, _: usize, _: &Names, _: &mut dyn FnMut(Table)) {}
}

/// Defines the tables of a collector: a name and the type of a row for each.
macro_rules! row_set {
    ($($table:ident: $row:ty),* $(,)?) => {
        /// Rows not yet handed on.
        #[derive(Default)]
        pub struct Rows {
            $(pub $table: Vec<$row>,)*
        }

        impl $crate::results::rows::RowSet for Rows {
            fn hand_on(
                &mut self,
                least: usize,
                names: &$crate::results::names::Names,
                take: &mut dyn FnMut(xoff_models::records::table::Table),
            ) {
                $(if self.$table.len() >= least {
                    let rows = std::mem::take(&mut self.$table);
                    take(<$row as $crate::results::rows::Row>::table(&rows, names));
                })*
            }
        }
    };
}
pub(super) use row_set;
