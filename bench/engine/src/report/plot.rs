//! Plots in SVG: bars for one place, lines over the number of entries.

use super::{count, short};
use crate::Result;
use crate::systems::Side;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use std::path::Path;

const WIDTH: u32 = 860;
const OURS: RGBColor = RGBColor(214, 94, 0);
const PEER: RGBColor = RGBColor(70, 120, 170);
const BASELINE: RGBColor = RGBColor(130, 130, 130);
const TEXT: RGBColor = RGBColor(40, 40, 40);

/// The peers' lines.
const LINES: [RGBColor; 9] = [
    RGBColor(31, 90, 160),
    RGBColor(90, 160, 210),
    RGBColor(20, 130, 130),
    RGBColor(60, 140, 50),
    RGBColor(130, 60, 150),
    RGBColor(180, 40, 60),
    RGBColor(120, 85, 40),
    RGBColor(200, 150, 20),
    RGBColor(60, 60, 90),
];

fn color(side: Side) -> RGBColor {
    match side {
        Side::Ours => OURS,
        Side::Peer => PEER,
        Side::Baseline => BASELINE,
    }
}

/// One bar.
pub(super) struct Bar {
    pub(super) label: String,
    pub(super) side: Side,
    pub(super) value: f64,
    /// Where a paler part of the bar ends.
    pub(super) beyond: Option<f64>,
}

/// Horizontal bars on a logarithmic scale.
pub(super) fn bars(path: &Path, title: &str, unit: &str, bars: &[Bar]) -> Result<()> {
    if bars.is_empty() {
        return Ok(());
    }
    let height = 90 + 24 * bars.len() as u32;
    let area = SVGBackend::new(path, (WIDTH, height)).into_drawing_area();
    area.fill(&WHITE)?;
    let (low, high) = decades(bars.iter().flat_map(|b| [b.value, b.beyond.unwrap_or(b.value)]));
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 17).with_color(TEXT))
        .margin(12)
        .margin_right(60)
        .x_label_area_size(36)
        .y_label_area_size(170)
        .build_cartesian_2d((low..high).log_scale(), 0.0..bars.len() as f64)?;
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_desc(unit)
        .x_label_formatter(&|v| short_axis(*v))
        .light_line_style(WHITE.mix(0.0))
        .label_style(("sans-serif", 12).with_color(TEXT))
        .draw()?;
    for (nth, bar) in bars.iter().enumerate() {
        let bottom = (bars.len() - nth - 1) as f64;
        let mut rectangle = |end: f64, strength: f64| {
            let corners = [(low, bottom + 0.15), (end.max(low), bottom + 0.85)];
            chart.draw_series([Rectangle::new(corners, color(bar.side).mix(strength).filled())]).map(|_| ())
        };
        let end = bar.beyond.map_or(bar.value, |beyond| beyond.max(bar.value));
        rectangle(end, 0.35)?;
        rectangle(bar.value, 1.0)?;
        let (left, y) = chart.backend_coord(&(low, bottom + 0.5));
        let (right, _) = chart.backend_coord(&(end, bottom + 0.5));
        let color = if bar.side == Side::Ours { OURS } else { TEXT };
        let style = |position| {
            TextStyle::from(("sans-serif", 12)).color(&color).pos(Pos::new(position, VPos::Center))
        };
        area.draw(&Text::new(bar.label.clone(), (left - 6, y), style(HPos::Right)))?;
        area.draw(&Text::new(short(bar.value), (right + 5, y), style(HPos::Left)))?;
    }
    Ok(area.present()?)
}

/// A line.
pub(super) struct Line {
    pub(super) label: String,
    pub(super) side: Side,
    /// Number of entries, and figure.
    pub(super) points: Vec<(f64, f64)>,
}

/// Lines over the number of entries, both axes logarithmic.
pub(super) fn lines(path: &Path, title: &str, unit: &str, lines: &[Line]) -> Result<()> {
    let points = || lines.iter().flat_map(|l| l.points.iter());
    if points().next().is_none() {
        return Ok(());
    }
    let area = SVGBackend::new(path, (WIDTH, 460)).into_drawing_area();
    area.fill(&WHITE)?;
    let (low, high) = decades(points().map(|p| p.1));
    let left = points().map(|p| p.0).fold(f64::INFINITY, f64::min);
    let right = points().map(|p| p.0).fold(left * 1.5, f64::max);
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 17).with_color(TEXT))
        .margin(12)
        .margin_right(200)
        .x_label_area_size(36)
        .y_label_area_size(64)
        .build_cartesian_2d((left..right).log_scale(), (low..high).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("entries")
        .y_desc(unit)
        .x_label_formatter(&|v| count(v.round() as u64))
        .y_label_formatter(&|v| short_axis(*v))
        .light_line_style(WHITE.mix(0.0))
        .label_style(("sans-serif", 12).with_color(TEXT))
        .draw()?;
    let mut labels = Vec::new();
    for (nth, line) in lines.iter().enumerate() {
        let (color, width) = match line.side {
            Side::Ours => (OURS.to_rgba(), 3),
            Side::Peer => (LINES[nth % LINES.len()].to_rgba(), 2),
            Side::Baseline => (BASELINE.to_rgba(), 2),
        };
        chart.draw_series(LineSeries::new(line.points.iter().copied(), color.stroke_width(width)))?;
        chart.draw_series(line.points.iter().map(|p| Circle::new(*p, 3, color.filled())))?;
        if let Some(last) = line.points.last() {
            let (x, y) = chart.backend_coord(last);
            labels.push((y, x, &line.label, color));
        }
    }
    labels.sort_by_key(|l| l.0);
    let mut free = i32::MIN;
    for (y, x, label, color) in labels {
        let y = y.max(free);
        free = y + 14;
        let style = TextStyle::from(("sans-serif", 12)).color(&color).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(label.clone(), (x + 8, y), style))?;
    }
    Ok(area.present()?)
}

/// A range that begins and ends at a power of ten, or half of one.
fn decades(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (least, most) = values
        .filter(|v| *v > 0.0)
        .fold((f64::INFINITY, 0.0_f64), |(least, most), v| (least.min(v), most.max(v)));
    if most == 0.0 {
        return (0.1, 1.0);
    }
    let low = 10_f64.powf(((least * 0.9).log10() * 2.0).floor() / 2.0);
    let high = 10_f64.powf(((most * 1.1).log10() * 2.0).ceil() / 2.0);
    (low, high)
}

fn short_axis(value: f64) -> String {
    match value {
        v if v >= 1e6 => format!("{} M", short_trimmed(v / 1e6)),
        v if v >= 1e3 => format!("{} k", short_trimmed(v / 1e3)),
        v => short_trimmed(v),
    }
}

fn short_trimmed(value: f64) -> String {
    let text = format!("{value:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
