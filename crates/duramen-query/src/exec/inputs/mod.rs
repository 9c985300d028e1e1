//! What the functions of `stats` look at: each reads of a block what it needs, once, and then takes some rows at a time.

mod best;
mod extremes;
mod seen;

pub(super) use best::is_beaten;
pub(super) use extremes::Extremes;

use super::Order;
use super::cells::{cell, has_value, named};
use super::group_keys::RowCodes;
use super::numbers::Numbers;
use super::open::Open;
use crate::bitmap::Bitmap;
use crate::error::Result;
use crate::pipe::sort::Arrival;
use crate::pipe::stats::kind::Kind;
use crate::pipe::stats::{Cell, Function, Groups, ToBeat};
use best::{Leading, best_rows};
use duramen::block::{LengthUnit, names};
use duramen::column::Column;
use seen::Seen;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// What a function that sees rows needs of a block, and the rows that meet its condition.
pub(super) struct Input<'a> {
    number: usize,
    function: &'a Function,
    values: Values,
    condition: Option<Bitmap>,
    /// If the function only wants to know which values there are, and they are few.
    seen: Option<Seen>,
    order: Order,
}

/// The rows of a block that were found.
pub(super) struct Rows<'b> {
    pub(super) found: &'b Bitmap,
    /// If few codes tell which rows are of one group: those.
    pub(super) codes: Option<Codes<'b>>,
    /// If all rows are one group: the best number there was, of a function that wants that.
    pub(super) to_beat: Option<ToBeat>,
    /// Which of them come first.
    pub(super) order: Order,
}

/// So many codes, and which each row has, if there are several.
#[derive(Clone, Copy)]
pub(super) struct Codes<'b> {
    pub(super) count: usize,
    pub(super) of_rows: Option<&'b RowCodes<'b>>,
}

impl Codes<'_> {
    fn of(&self, row: usize) -> usize {
        self.of_rows.map_or(0, |codes| codes.of(row))
    }
}

/// The numbers of columns, by the field's name.
pub(super) type Known<'a> = BTreeMap<&'a str, Rc<Numbers>>;

/// Columns by name.
type NamedColumns = Vec<(String, Option<Arc<Column>>)>;

/// What a function looks at.
enum Values {
    /// Its columns by name.
    Columns(NamedColumns),
    /// Its columns, of which it only wants to know whether one has a value.
    Filled(Vec<Arc<Column>>),
    /// The numbers of its columns.
    Numbers(Vec<Rc<Numbers>>),
    /// The numbers of the column of which it wants the least or the greatest value, which may be something else.
    Extreme(Rc<Numbers>),
    /// Its columns by name, of the rows with the least or the greatest number: rows without one are out of the question.
    OfBest(Rc<Numbers>, NamedColumns, Leading),
    /// Its columns by name, of these rows: all others are out of the question.
    Few(NamedColumns, Bitmap),
    /// How long the texts of its columns are, or those columns.
    Lengths(Vec<(Arc<Column>, Is)>),
    /// The times of all rows, of which it wants the first or the last: only one of each group's is put into text.
    Times(Arc<Vec<i64>>),
}

/// What a column is to who wants to know how long texts are.
#[derive(Clone, Copy)]
enum Is {
    Lengths,
    Texts,
}

/// How long a row's text is.
fn length((column, is): &(Arc<Column>, Is), row: usize) -> u64 {
    match (is, cell(Some(column), row)) {
        (Is::Lengths, Cell::Int(n)) => u64::try_from(n).unwrap_or(0),
        (_, cell) => cell.with_text(str::len) as u64,
    }
}

impl Values {
    /// Of rows that meet the function's condition. Numbers of a column that were read are `known`.
    fn read<'a>(
        function: &'a Function,
        open: &mut Open,
        rows: &Rows<'_>,
        met: &Bitmap,
        known: &mut Known<'a>,
    ) -> duramen::Result<Self> {
        let found = rows.found;
        let is_extreme = matches!(function.kind, Kind::Min | Kind::Max);
        if is_extreme && function.is_of_time() {
            return open.times().map(Self::Times);
        }
        let mut numbers = |name: &'a str, open: &mut Open| -> duramen::Result<Rc<Numbers>> {
            Ok(match known.get(name) {
                Some(numbers) => numbers.clone(),
                None => {
                    let numbers = Rc::new(Numbers::new(open.column(name)?, found));
                    known.insert(name, numbers.clone());
                    numbers
                }
            })
        };
        let are_named = function.fields.iter().all(|pattern| !pattern.prefix);
        if let [field] = &function.fields[..]
            && is_extreme
            && function.looks_at_numbers()
        {
            return numbers(&field.name, open).map(Self::Extreme);
        }
        if function.looks_at_numbers() {
            let fields = function.fields.iter().map(|pattern| numbers(&pattern.name, open));
            return fields.collect::<duramen::Result<_>>().map(Self::Numbers);
        }
        if matches!(function.kind, Kind::Count | Kind::Rate) && are_named {
            let columns = function.fields.iter().map(|pattern| open.column(&pattern.name));
            // Where no row has the field, none has a value.
            return columns.filter_map(Result::transpose).collect::<duramen::Result<_>>().map(Self::Filled);
        }
        if function.kind == Kind::SumLen && are_named && !function.fields.is_empty() {
            let mut columns = Vec::new();
            for pattern in &function.fields {
                columns.extend(match open.lengths(&pattern.name, LengthUnit::Bytes)? {
                    Some(lengths) => Some((lengths, Is::Lengths)),
                    None => open.column(&pattern.name)?.map(|column| (column, Is::Texts)),
                });
            }
            return Ok(Self::Lengths(columns));
        }
        let mut columns = Vec::new();
        for (name, _) in &function.sort {
            let column = if **name == *names::TIME { Some(open.times_column()?) } else { open.column(name)? };
            columns.push((name.to_string(), column));
        }
        // Texts would be read as numbers for nothing.
        let sorted_by = match (function.wants_best_of(), columns.first()) {
            (Some((names::TIME, _)), Some((_, column))) => Some(Rc::new(Numbers::new(column.clone(), found))),
            (Some((name, _)), Some((_, column))) if Numbers::are_all_of(column.as_deref()) => {
                Some(numbers(name, open)?)
            }
            _ => None,
        };
        // Where few codes tell which rows are of one group, only what one of each has is needed besides the numbers.
        let best = match (&sorted_by, function.kind) {
            (Some(numbers), kind) => best_rows(Some((numbers, kind == Kind::RowMin)), met, rows),
            (None, Kind::RowAny) => best_rows(None, met, rows),
            (None, _) => None,
        };
        for pattern in &function.fields {
            if best.as_ref().is_some_and(Bitmap::is_empty) {
                break;
            }
            if pattern.prefix {
                let named = match &best {
                    Some(rows) => open.matching_for(pattern, rows)?,
                    None => open.matching(pattern)?,
                };
                columns.extend(named.into_iter().map(|(name, column)| (name, Some(column))));
                continue;
            }
            let column = match &best {
                Some(rows) => open.column_for(&pattern.name, rows)?,
                None => open.column(&pattern.name)?,
            };
            columns.push((pattern.name.to_string(), column));
        }
        Ok(match (best, sorted_by) {
            (Some(best), _) => Self::Few(columns, best),
            (None, Some(numbers)) => Self::OfBest(numbers, columns, Leading::default()),
            (None, None) => Self::Columns(columns),
        })
    }
}

impl<'a> Input<'a> {
    /// What the function of this number needs of the rows that were found.
    pub(super) fn read(
        number: usize,
        function: &'a Function,
        open: &mut Open,
        rows: &Rows<'_>,
        known: &mut Known<'a>,
        stop: &dyn Fn() -> bool,
    ) -> duramen::Result<Self> {
        let condition = function.condition.as_ref();
        let condition =
            condition.map(|filter| super::eval::eval(filter, open, rows.found, stop)).transpose()?;
        let values = Values::read(function, open, rows, condition.as_ref().unwrap_or(rows.found), known)?;
        let seen = match &values {
            Values::Columns(columns) if function.kind.is_of_distinct() => Seen::new(columns),
            _ => None,
        };
        Ok(Self { number, function, values, condition, seen, order: rows.order })
    }

    /// Whether none of the block's rows has anything for the function.
    pub(super) fn is_void(&self) -> bool {
        match &self.values {
            Values::Columns(columns) => {
                self.function.kind.is_of_distinct() && columns.iter().all(|(_, column)| column.is_none())
            }
            Values::Filled(columns) => columns.is_empty() && !self.function.fields.is_empty(),
            Values::Numbers(columns) => columns.iter().all(|numbers| numbers.are_none()),
            Values::Extreme(numbers) => numbers.are_none(),
            Values::OfBest(numbers, ..) => numbers.are_none(),
            Values::Few(_, few) => few.is_empty(),
            Values::Lengths(columns) => columns.is_empty(),
            Values::Times(_) => false,
        }
    }

    /// Says that groups have other numbers now.
    pub(super) fn groups_moved(&mut self) {
        if let Some(seen) = &mut self.seen {
            seen.clear();
        }
        if let Values::OfBest(_, _, leading) = &mut self.values {
            leading.clear();
        }
    }

    /// Gives the function what these rows have for it, each with its group; `one`, if they have one in common.
    pub(super) fn add(
        &mut self,
        rows: &[(usize, usize)],
        one: Option<usize>,
        arrival: &dyn Fn(usize) -> Arrival,
        groups: &mut Groups<'_>,
        extremes: &mut Extremes,
    ) -> Result<()> {
        let (number, function) = (self.number, self.function);
        let condition = self.condition.as_ref();
        let is_met = |row| condition.is_none_or(|rows| rows.contains(row));
        let all = rows;
        let rows = all.iter().copied().filter(|(row, _)| is_met(*row));
        match &mut self.values {
            Values::Times(times) => {
                let is_min = function.kind == Kind::Min;
                extremes.add(number, is_min, rows.map(|(row, group)| (times[row], group)));
            }
            Values::Numbers(columns) => {
                for numbers in columns {
                    let numbers = numbers.of_rows(all);
                    let found = all.iter().zip(&*numbers).filter(|((row, _), _)| is_met(*row));
                    if let Some(group) = one {
                        groups.add_numbers_of(group, number, found.filter_map(|(_, &number)| number))?;
                        continue;
                    }
                    groups.add_numbers(
                        number,
                        found.filter_map(|(&(_, group), &number)| Some((group, number?))),
                    )?;
                }
            }
            Values::Filled(columns) => {
                let counts_all = function.fields.is_empty();
                let is_counted = |row| counts_all || columns.iter().any(|column| has_value(column, row));
                groups.count(number, rows.filter(|(row, _)| is_counted(*row)).map(|(_, group)| (group, 1)));
            }
            Values::Lengths(columns) => {
                let of_row = |row| columns.iter().map(|column| length(column, row)).sum();
                groups.count(number, rows.map(|(row, group)| (group, of_row(row))));
            }
            Values::Extreme(numbers) => {
                let found = numbers.of_rows(all);
                let rows = all.iter().zip(&*found).filter(|((row, _), _)| is_met(*row));
                let mut written = OnceCell::new();
                if numbers.are_all() && one.is_some() {
                    // Of one group's numbers, only the best are worth being compared with what it has. Of decimal fractions with
                    // many digits, several may be read as the same number.
                    let numbered =
                        || rows.clone().filter_map(|(&(row, group), number)| Some((row, group, (*number)?)));
                    let values = numbered().map(|(.., value)| value);
                    let best = if function.kind == Kind::Min { values.min() } else { values.max() };
                    for (row, group, value) in numbered().filter(|(.., value)| Some(*value) == best) {
                        written.take();
                        groups.offer(group, number, Some(value), || numbers.cell(row, &written));
                    }
                    return Ok(());
                }
                for (&(row, group), &found) in rows {
                    if found.is_none() && numbers.are_all() {
                        continue;
                    }
                    written.take();
                    groups.offer(group, number, found, || numbers.cell(row, &written));
                }
            }
            Values::OfBest(numbers, columns, leading) => {
                let is_min = function.kind == Kind::RowMin;
                let mut cells = Vec::new();
                for (&(row, group), &value) in all.iter().zip(&*numbers.of_rows(all)) {
                    if is_met(row) && value.is_some_and(|value| leading.is_best(group, value, is_min)) {
                        cells.clear();
                        cells
                            .extend(columns.iter().map(|(name, column)| named(name, column.as_deref(), row)));
                        groups.add(group, number, &cells, arrival(row))?;
                    }
                }
            }
            Values::Few(columns, few) => {
                for (row, group) in all.iter().copied().filter(|(row, _)| few.contains(*row)) {
                    let cells = columns.iter().map(|(name, column)| named(name, column.as_deref(), row));
                    groups.add(group, number, &cells.collect::<Vec<_>>(), arrival(row))?;
                }
            }
            Values::Columns(columns) if function.kind.takes_rows() => {
                let (keys, shown) = columns.split_at(function.sort.len());
                let mut cells = Vec::new();
                // Those come first that leave others no place.
                let mut rows: Vec<_> = rows.collect();
                if self.order == Order::NewestFirst {
                    rows.reverse();
                }
                for (row, group) in rows {
                    cells.clear();
                    cells.extend(keys.iter().map(|(name, column)| named(name, column.as_deref(), row)));
                    if function.limit.is_none() || groups.wants_row(group, number, &cells, arrival(row)) {
                        cells.extend(shown.iter().map(|(name, column)| named(name, column.as_deref(), row)));
                        groups.add(group, number, &cells, arrival(row))?;
                    }
                }
            }
            Values::Columns(columns) => {
                let mut cells = Vec::new();
                for (row, group) in rows {
                    if self.seen.as_mut().is_some_and(|seen| !seen.is_new(columns, row, group)) {
                        continue;
                    }
                    cells.clear();
                    cells.extend(columns.iter().map(|(name, column)| named(name, column.as_deref(), row)));
                    groups.add(group, number, &cells, arrival(row))?;
                }
            }
        }
        Ok(())
    }
}

/// How many groups have their place in a list, of which each block has a new one.
const MAX_LISTED_GROUPS: usize = 4096;
