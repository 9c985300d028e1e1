//! All pipes by name, for the parser and for its errors.

use super::blocks::Blocks;
use super::census::facets::Facets;
use super::census::field_names::FieldNames;
use super::collapse_nums::CollapseNums;
use super::decolorize::Decolorize;
use super::drop_empty::DropEmptyFields;
use super::extract::Extract;
use super::extract_regexp::ExtractRegexp;
use super::fields::Fields;
use super::format::Format;
use super::join::Join;
use super::math::Math;
use super::measure::Measured;
use super::pack::Pack;
use super::query_stats::QueryStats;
use super::rename::Rename;
use super::replace::Replace;
use super::sample::Sample;
use super::set_stream_fields::SetStreamFields;
use super::stream_context::StreamContext;
use super::unpack::Unpack;
use super::unroll::Unroll;
use super::window::Window;
use super::words::Split;
use super::{Pipe, row_pipe, sort, stats, time_add, top, union, uniq};
use crate::error::ParseError;
use crate::parse::Parser;
use crate::parse::filter::Subject;
use crate::parse::lexer::TokenKind;

/// Reads a pipe, after its name.
type Read = fn(&mut Parser<'_>) -> Result<Pipe, ParseError>;

/// Every pipe: its names, the first being the one it prints with, and what reads it.
const PIPES: &[(&[&str], Read)] = &[
    (&["block_stats"], |p| Ok(Blocks::parse_stats(p)?.into())),
    (&["blocks_count"], |p| Ok(Blocks::parse_count(p)?.into())),
    (&["collapse_nums"], |p| row_pipe::parse(p, CollapseNums::parse)),
    (&["copy", "cp"], |p| Ok(Pipe::Rename(Rename::parse(p, true)?))),
    (&["decolorize"], |p| row_pipe::parse(p, Decolorize::parse)),
    (&["delete", "drop", "del", "rm"], |p| Ok(Pipe::Fields(Fields::parse(p, true)?))),
    (&["drop_empty_fields"], |_| Ok(DropEmptyFields.into())),
    (&["extract"], |p| row_pipe::parse(p, Extract::parse)),
    (&["extract_regexp"], |p| row_pipe::parse(p, ExtractRegexp::parse)),
    (&["facets"], |p| Ok(Facets::parse(p)?.into())),
    (&["field_names"], |p| Ok(FieldNames::parse(p)?.into())),
    (&["field_values"], |p| Ok(Pipe::Uniq(uniq::Uniq::parse_values(p)?))),
    (&["fields", "keep"], |p| Ok(Pipe::Fields(Fields::parse(p, false)?))),
    (&["first"], |p| Ok(Pipe::Sort(sort::Sort::parse_end(p, false)?))),
    (&["last"], |p| Ok(Pipe::Sort(sort::Sort::parse_end(p, true)?))),
    (&["filter", "where"], |p| Ok(Pipe::Filter(p.whole_filter()?))),
    (&["format"], |p| row_pipe::parse(p, Format::parse)),
    (&["hash"], |p| row_pipe::parse(p, Measured::parse_hash)),
    (&["join"], |p| Ok(Join::parse(p)?.into())),
    (&["json_array_len"], |p| row_pipe::parse(p, Measured::parse_array_len)),
    (&["len"], |p| row_pipe::parse(p, Measured::parse_len)),
    (&["limit", "head"], |p| {
        Ok(Pipe::Limit(if p.at_pipe_end() { 10 } else { p.count("a number of rows")? }))
    }),
    (&["math", "eval"], |p| row_pipe::parse(p, Math::parse)),
    (&["offset", "skip"], |p| Ok(Pipe::Offset(p.count("a number of rows")?))),
    (&["pack_json"], |p| row_pipe::parse(p, Pack::parse_json)),
    (&["pack_logfmt"], |p| row_pipe::parse(p, Pack::parse_logfmt)),
    (&["query_stats"], |_| Ok(QueryStats.into())),
    (&["rename", "mv"], |p| Ok(Pipe::Rename(Rename::parse(p, false)?))),
    (&["replace"], |p| row_pipe::parse(p, Replace::parse)),
    (&["replace_regexp"], |p| row_pipe::parse(p, Replace::parse_regexp)),
    (&["running_stats"], |p| Ok(Window::parse(p, false)?.into())),
    (&["sample"], |p| Ok(Sample::parse(p)?.into())),
    (&["set_stream_fields"], |p| row_pipe::parse(p, SetStreamFields::parse)),
    (&["sort", "order"], |p| Ok(Pipe::Sort(sort::Sort::parse(p)?))),
    (&["split"], |p| row_pipe::parse(p, Split::parse_split)),
    (&["stats"], |p| Ok(Pipe::Stats(stats::Stats::parse(p)?))),
    (&["stream_context"], |p| Ok(StreamContext::parse(p)?.into())),
    (&["time_add"], |p| row_pipe::parse(p, time_add::TimeAdd::parse)),
    (&["top"], |p| Ok(Pipe::Top(top::Top::parse(p)?))),
    (&["total_stats"], |p| Ok(Window::parse(p, true)?.into())),
    (&["union"], |p| Ok(union::Union::parse(p)?.into())),
    (&["uniq"], |p| Ok(Pipe::Uniq(uniq::Uniq::parse(p)?))),
    (&["unpack_json"], |p| row_pipe::parse(p, Unpack::parse_json)),
    (&["unpack_logfmt"], |p| row_pipe::parse(p, Unpack::parse_logfmt)),
    (&["unpack_syslog"], |p| row_pipe::parse(p, Unpack::parse_syslog)),
    (&["unpack_words"], |p| row_pipe::parse(p, Split::parse_words)),
    (&["unroll"], |p| Ok(Unroll::parse(p)?.into())),
];

/// The names, for errors.
fn names() -> String {
    PIPES.iter().filter_map(|(names, _)| names.first().copied()).collect::<Vec<_>>().join(", ")
}

/// Whether this is the name of a pipe, in any case.
pub(crate) fn is_pipe(name: &str) -> bool {
    let names = PIPES.iter().flat_map(|(names, _)| *names);
    names.chain(&["by"]).any(|known| known.eq_ignore_ascii_case(name))
}

impl Parser<'_> {
    /// Whether `(a, b) count()` is next: `stats by`, left out. No filter has such functions.
    fn at_groups(&mut self) -> bool {
        if !self.at_punct('(') {
            return false;
        }
        let start = self.token.start;
        let is_next = stats::By::parse_list(self).is_ok()
            && matches!(self.token.kind, TokenKind::Word(w) if stats::kind::is_function(&w.to_ascii_lowercase()))
            && self.text[self.token.end..].starts_with('(');
        self.continue_at(start).is_ok() && is_next
    }

    /// One pipe, after its `|`.
    pub(crate) fn pipe(&mut self) -> Result<Pipe, ParseError> {
        let TokenKind::Word(word) = self.token.kind else {
            return if self.at_pipe_end() {
                Err(self.expected(&format!("a pipe ({})", names())))
            } else if self.at_groups() {
                Ok(Pipe::Stats(stats::Stats::parse(self)?))
            } else {
                Ok(Pipe::Filter(self.filter(Subject::Message)?))
            };
        };
        let name = word.to_ascii_lowercase();
        let next = self.text[self.token.end..].chars().next().unwrap_or(' ');
        if matches!(next, ':' | '=' | '<' | '>' | '!' | '~') {
            return Ok(Pipe::Filter(self.filter(Subject::Message)?));
        }
        let Some((_, read)) = PIPES.iter().find(|(names, _)| names.contains(&&*name)) else {
            // `stats` itself may be left out.
            if name == "by" || next == '(' && stats::kind::is_function(&name) {
                return Ok(Pipe::Stats(stats::Stats::parse(self)?));
            }
            return Err(self.error(format!("unknown pipe `{word}`"), format!("expected one of {}", names())));
        };
        self.advance()?;
        read(self)
    }
}
