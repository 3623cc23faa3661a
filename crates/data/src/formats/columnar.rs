/*!
Arrow columns to a [`Table`]: numbers stay numbers, without text in between.

```text
for each batch: roles other than features, column by column
                features: 64 rows at a time, all columns, so that the rows being filled stay in the cache
```

Understood: booleans, all integers and floats, decimals, dates and timestamps (as seconds), text, and dictionaries of
these. Columns of any other type (lists, structs, bytes …) are ignored unless a role names them. Null is
missing. Dictionaries of text are categories by themselves.
*/

use std::borrow::Cow;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Float16Type,
    Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema, TimeUnit};

use super::roles::{Holds, Roles};
use super::table::{Fault, Table};
use super::{ReadOptions, Words};
use crate::error::ReadError;
use crate::names::Names;

/// Rows that are turned from columns into rows at a time.
const BLOCK: usize = 64;

/// The most text that is kept, as a dictionary can make gigabytes of names out of a small file.
const MOST_TEXT: usize = 4 << 30;

/// A table and the places of its columns in the batches to come.
pub(crate) struct Columns {
    pub table: Table,
    /// Columns of the schema that the batches hold, ascending.
    pub projection: Vec<usize>,
}

impl Columns {
    /// Gives the columns of a schema their roles.
    pub(crate) fn new(file: &str, schema: &Schema, options: &ReadOptions) -> Result<Columns, ReadError> {
        let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
        let holds = |column: usize| holds(schema.field(column).data_type());
        let roles = Roles::assign(file, &names, options, |column| holds(column).unwrap_or(Holds::Text))?;
        let projection = roles.columns();
        if let Some(&column) = projection.iter().find(|&&column| holds(column).is_none()) {
            let found = format!("type {}", schema.field(column).data_type());
            let expected = "numbers, booleans, decimals, dates, text or a dictionary of these";
            let error = ReadError::data(file, found, expected).in_column(names[column].as_str());
            return Err(match options.words {
                Words::Kept => {
                    error.advice("Leave it out with --ignore, or all columns without a use with --drop.")
                }
                _ => error,
            });
        }
        Ok(Columns { table: Table::new(file, names, roles, options.regroup), projection })
    }

    /// Adds the rows of a batch that holds the columns of `projection`.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), ReadError> {
        let (first, rows) = (self.table.rows(), batch.num_rows());
        for l in 0..self.table.roles.labels.len() {
            let numbers = self.finite(batch, self.table.roles.labels[l])?;
            self.table.labels[l].extend_from_slice(&numbers);
        }
        if let Some(column) = self.table.roles.weight {
            let numbers = self.finite(batch, column)?;
            self.table.weights.extend_from_slice(&numbers);
        }
        if let Some(column) = self.table.roles.list_weight {
            let numbers = self.finite(batch, column)?;
            self.table.list_weights.extend_from_slice(&numbers);
        }
        if let Some(column) = self.table.roles.time {
            let numbers = self.finite_f64(batch, column)?;
            self.table.times.extend_from_slice(&numbers);
        }
        if let Some(column) = self.table.roles.init_score {
            let numbers = self.finite_f64(batch, column)?;
            self.table.init_scores.extend_from_slice(&numbers);
        }
        if let Some(column) = self.table.roles.position {
            for (row, position) in self.finite_f64(batch, column)?.into_iter().enumerate() {
                self.table.push_position(first + row, position)?;
            }
        }
        if let Some(column) = self.table.roles.item {
            let texts = Texts::of(self.array(batch, column));
            fill(&mut self.table.items, &texts, rows).map_err(|()| self.too_much_text(column))?;
        }
        for k in 0..self.table.roles.keep.len() {
            let column = self.table.roles.keep[k];
            let texts = Texts::of(self.array(batch, column));
            fill(&mut self.table.kept[k], &texts, rows).map_err(|()| self.too_much_text(column))?;
        }
        self.push_features(batch)?;
        let lists = self.table.roles.list.map(|column| Texts::of(self.array(batch, column)));
        for row in 0..rows {
            let list = lists.as_ref().and_then(|texts| texts.get(row)).unwrap_or_default();
            self.table.end_row(&list)?;
        }
        Ok(())
    }

    fn push_features(&mut self, batch: &RecordBatch) -> Result<(), ReadError> {
        let (width, rows) = (self.table.roles.features.len(), batch.num_rows());
        let mut columns = Vec::with_capacity(width);
        for f in 0..width {
            let feature = self.table.roles.features[f];
            columns.push(if feature.categorical {
                Cow::Owned(self.codes(f, self.array(batch, feature.column))?)
            } else {
                self.finite(batch, feature.column)?
            });
        }
        let start = self.table.values.len();
        self.table.values.resize(start + rows * width, 0.0);
        let filled = &mut self.table.values[start..];
        for (block, out) in filled.chunks_mut(BLOCK * width.max(1)).enumerate() {
            let first = block * BLOCK;
            for (f, column) in columns.iter().enumerate() {
                let cells = &column[first..(first + BLOCK).min(rows)];
                for (row, &value) in out.chunks_exact_mut(width).zip(cells) {
                    row[f] = value;
                }
            }
        }
        Ok(())
    }

    /// The categories of a column as codes among those read so far.
    fn codes(&mut self, f: usize, array: &dyn Array) -> Result<Vec<f32>, ReadError> {
        let first = self.table.rows();
        let texts = Texts::of(array);
        let mut codes = Vec::with_capacity(array.len());
        for row in 0..array.len() {
            codes.push(match texts.get(row) {
                Some(text) => self.table.level(f, first + row, &text)?,
                None => f32::NAN,
            });
        }
        Ok(codes)
    }

    fn array<'b>(&self, batch: &'b RecordBatch, column: usize) -> &'b dyn Array {
        let place = self.projection.binary_search(&column).expect("every role is in the projection");
        batch.column(place)
    }

    fn too_much_text(&self, column: usize) -> ReadError {
        let fault = Fault::new(format!("more than {MOST_TEXT} bytes of text"), "less text in one column");
        self.table.error(self.table.rows(), column, fault)
    }

    /// The numbers of a column; NaN = missing.
    fn finite<'b>(&self, batch: &'b RecordBatch, column: usize) -> Result<Cow<'b, [f32]>, ReadError> {
        let numbers = numbers(self.array(batch, column)).ok_or_else(|| self.no_numbers(batch, column))?;
        // One sweep without an early exit is several times faster; the search is for the message.
        let any = numbers.iter().fold(false, |any, value| any | value.is_infinite());
        if any && let Some(row) = numbers.iter().position(|value| value.is_infinite()) {
            let fault = Fault::new("a number too large for 32 bits", "a finite number below 3.4e38 or null");
            return Err(self.table.error(self.table.rows() + row, column, fault));
        }
        Ok(numbers)
    }

    fn finite_f64(&self, batch: &RecordBatch, column: usize) -> Result<Vec<f64>, ReadError> {
        let mut numbers = Vec::new();
        let array = self.array(batch, column);
        convert(array, &mut numbers, |value| value).ok_or_else(|| self.no_numbers(batch, column))?;
        if let Some(row) = numbers.iter().position(|value| value.is_infinite()) {
            let fault = Fault::new("an infinite number", "a finite number");
            return Err(self.table.error(self.table.rows() + row, column, fault));
        }
        Ok(numbers)
    }

    fn no_numbers(&self, batch: &RecordBatch, column: usize) -> ReadError {
        let fault = Fault::new(format!("type {}", self.array(batch, column).data_type()), "numbers")
            .advice("Name a feature of strings with --categorical.");
        self.table.error(self.table.rows(), column, fault)
    }
}

fn fill(names: &mut Names, texts: &Texts, rows: usize) -> Result<(), ()> {
    for row in 0..rows {
        names.push(&texts.get(row).unwrap_or_default());
        if names.bytes() > MOST_TEXT {
            return Err(());
        }
    }
    Ok(())
}

/// What a column of this type holds; `None`: nothing that a role could use.
fn holds(data_type: &DataType) -> Option<Holds> {
    use DataType as T;
    match data_type {
        T::Boolean
        | T::Float16
        | T::Float32
        | T::Float64
        | T::Decimal32(..)
        | T::Decimal64(..)
        | T::Decimal128(..) => Some(Holds::Numbers),
        _ if data_type.is_integer() => Some(Holds::Numbers),
        // Dates are numbers if asked for, but no features by default.
        T::Utf8 | T::LargeUtf8 | T::Utf8View | T::Date32 | T::Date64 | T::Timestamp(..) => Some(Holds::Text),
        T::Dictionary(_, values) => match holds(values)? {
            Holds::Text if matches!(**values, T::Utf8 | T::LargeUtf8 | T::Utf8View) => {
                Some(Holds::Categories)
            }
            other => Some(other),
        },
        _ => None,
    }
}

/// The numbers of an array as `f32`, without a copy where they are that already; NaN = null.
fn numbers(array: &dyn Array) -> Option<Cow<'_, [f32]>> {
    if let (Some(plain), 0) = (array.as_primitive_opt::<Float32Type>(), array.null_count()) {
        return Some(Cow::Borrowed(plain.values()));
    }
    let mut numbers = Vec::new();
    convert(array, &mut numbers, |value| value as f32)?;
    Some(Cow::Owned(numbers))
}

/// Appends the numbers of an array; `None` if it holds none.
fn convert<T: Copy>(array: &dyn Array, out: &mut Vec<T>, to: impl Fn(f64) -> T + Copy) -> Option<()> {
    use DataType as D;
    match array.data_type() {
        D::Boolean => {
            let values = array.as_boolean_opt()?;
            out.extend(values.iter().map(|v| to(v.map_or(f64::NAN, |v| f64::from(u8::from(v))))));
        }
        D::Int8 => primitive::<Int8Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::Int16 => primitive::<Int16Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::Int32 => primitive::<Int32Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::Int64 => primitive::<Int64Type, T>(array, out, |v| to(v as f64), to)?,
        D::UInt8 => primitive::<UInt8Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::UInt16 => primitive::<UInt16Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::UInt32 => primitive::<UInt32Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::UInt64 => primitive::<UInt64Type, T>(array, out, |v| to(v as f64), to)?,
        D::Float16 => primitive::<Float16Type, T>(array, out, |v| to(v.to_f64()), to)?,
        D::Float32 => primitive::<Float32Type, T>(array, out, |v| to(f64::from(v)), to)?,
        D::Float64 => primitive::<Float64Type, T>(array, out, to, to)?,
        D::Decimal32(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            primitive::<Decimal32Type, T>(array, out, |v| to(f64::from(v) / unit), to)?;
        }
        D::Decimal64(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            primitive::<Decimal64Type, T>(array, out, |v| to(v as f64 / unit), to)?;
        }
        D::Decimal128(_, scale) => {
            let unit = 10f64.powi(i32::from(*scale));
            primitive::<Decimal128Type, T>(array, out, |v| to(v as f64 / unit), to)?;
        }
        D::Date32 => primitive::<Date32Type, T>(array, out, |v| to(f64::from(v) * 86400.0), to)?,
        D::Date64 => primitive::<Date64Type, T>(array, out, |v| to(v as f64 / 1e3), to)?,
        D::Timestamp(unit, _) => match unit {
            TimeUnit::Second => primitive::<TimestampSecondType, T>(array, out, |v| to(v as f64), to)?,
            TimeUnit::Millisecond => {
                primitive::<TimestampMillisecondType, T>(array, out, |v| to(v as f64 / 1e3), to)?;
            }
            TimeUnit::Microsecond => {
                primitive::<TimestampMicrosecondType, T>(array, out, |v| to(v as f64 / 1e6), to)?;
            }
            TimeUnit::Nanosecond => {
                primitive::<TimestampNanosecondType, T>(array, out, |v| to(v as f64 / 1e9), to)?;
            }
        },
        D::Dictionary(..) => {
            let dictionary = array.as_any_dictionary_opt()?;
            let mut values = Vec::new();
            convert(dictionary.values(), &mut values, to)?;
            let keys = if values.is_empty() { vec![0; array.len()] } else { dictionary.normalized_keys() };
            let key = |(row, &key): (usize, &usize)| match values.get(key) {
                Some(&value) if dictionary.keys().is_valid(row) => value,
                _ => to(f64::NAN),
            };
            out.extend(keys.iter().enumerate().map(key));
        }
        _ => return None,
    }
    Some(())
}

fn primitive<P: ArrowPrimitiveType, T: Copy>(
    array: &dyn Array,
    out: &mut Vec<T>,
    to: impl Fn(P::Native) -> T,
    missing: impl Fn(f64) -> T,
) -> Option<()> {
    let array = array.as_primitive_opt::<P>()?;
    if array.null_count() == 0 {
        out.extend(array.values().iter().map(|&value| to(value)));
    } else {
        let missing = missing(f64::NAN);
        out.extend(array.iter().map(|value| value.map_or(missing, &to)));
    }
    Some(())
}

/// The cells of an array as text.
enum Texts<'a> {
    Short(&'a arrow_array::StringArray),
    Long(&'a arrow_array::LargeStringArray),
    View(&'a arrow_array::StringViewArray),
    Dictionary(Box<Texts<'a>>, Vec<usize>, &'a dyn Array),
    Whole(Vec<Option<i128>>),
    Numbers(Vec<f64>),
    Single(Vec<f32>),
}

impl<'a> Texts<'a> {
    fn of(array: &'a dyn Array) -> Texts<'a> {
        use DataType as D;
        match array.data_type() {
            D::Utf8 => Texts::Short(array.as_string()),
            D::LargeUtf8 => Texts::Long(array.as_string()),
            D::Utf8View => Texts::View(array.as_string_view()),
            D::Dictionary(..) => {
                let dictionary = array.as_any_dictionary();
                let empty = dictionary.values().is_empty();
                let keys = if empty { Vec::new() } else { dictionary.normalized_keys() };
                Texts::Dictionary(Box::new(Texts::of(dictionary.values())), keys, dictionary.keys())
            }
            D::Int64 => Texts::Whole(whole::<Int64Type>(array)),
            D::UInt64 => Texts::Whole(whole::<UInt64Type>(array)),
            D::Float32 => Texts::Single(numbers(array).unwrap_or_default().into_owned()),
            _ => {
                let mut numbers = Vec::new();
                // Types without numbers were refused with the schema.
                let _ = convert(array, &mut numbers, |value| value);
                numbers.resize(array.len(), f64::NAN);
                Texts::Numbers(numbers)
            }
        }
    }

    /// The text of a row; `None` = null.
    fn get(&self, row: usize) -> Option<Cow<'a, str>> {
        match self {
            Texts::Short(array) => array.is_valid(row).then(|| Cow::Borrowed(array.value(row))),
            Texts::Long(array) => array.is_valid(row).then(|| Cow::Borrowed(array.value(row))),
            Texts::View(array) => array.is_valid(row).then(|| Cow::Borrowed(array.value(row))),
            Texts::Dictionary(values, keys, nulls) => {
                if nulls.is_valid(row) {
                    values.get(*keys.get(row)?)
                } else {
                    None
                }
            }
            Texts::Whole(numbers) => numbers[row].map(|number| number.to_string().into()),
            Texts::Numbers(numbers) => (!numbers[row].is_nan()).then(|| numbers[row].to_string().into()),
            Texts::Single(numbers) => (!numbers[row].is_nan()).then(|| numbers[row].to_string().into()),
        }
    }
}

fn whole<P: ArrowPrimitiveType<Native: Into<i128>>>(array: &dyn Array) -> Vec<Option<i128>> {
    array.as_primitive::<P>().iter().map(|value| value.map(Into::into)).collect()
}
