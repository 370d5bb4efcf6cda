//! Tables of results, in columns.

use std::sync::Arc;

/// Data of an output column.
#[derive(Debug, Clone)]
pub enum Data {
    /// 64 bits.
    U64(Vec<u64>),
    /// Nullable 64-bit numbers.
    MaybeU64(Vec<Option<u64>>),
    /// 32 bits.
    U32(Vec<u32>),
    /// 16 bits.
    U16(Vec<u16>),
    /// 8 bits.
    U8(Vec<u8>),
    /// A number.
    F64(Vec<f64>),
    /// Nullable floating-point numbers.
    MaybeF64(Vec<Option<f64>>),
    /// Names by index.
    Name(Vec<u32>, Arc<Vec<String>>),
    /// Text.
    Static(Vec<&'static str>),
    /// Nullable 16-bit numbers.
    MaybeU16(Vec<Option<u16>>),
    /// Nullable truth values.
    MaybeBool(Vec<Option<bool>>),
    /// Nullable 32-bit numbers.
    MaybeU32(Vec<Option<u32>>),
    /// Nullable names by index.
    MaybeName(Vec<Option<u32>>, Arc<Vec<String>>),
    /// Nullable text.
    MaybeStatic(Vec<Option<&'static str>>),
    /// Nullable text.
    MaybeText(Vec<Option<String>>),
}

/// A named column.
#[derive(Debug, Clone)]
pub struct Column {
    /// Name of the column; the name of a quantity ends in the unit.
    pub name: &'static str,
    /// Meaning of a cell.
    pub meaning: &'static str,
    /// Cells of the column.
    pub data: Data,
}

/// An output table.
#[derive(Debug, Clone)]
pub struct Table {
    /// Name of the table.
    pub name: &'static str,
    /// Meaning of a row.
    pub about: &'static str,
    /// Columns of equal length.
    pub columns: Vec<Column>,
}
