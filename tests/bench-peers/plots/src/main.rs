//! `plots CURVES.csv FOLDER`: one picture for each curve of the table, `curve,contender,x,y` a line.
//!
//! Both axes are logarithmic: a straight line that rises is a cost that grows with what it is drawn over, and a flat one a
//! cost that does not. No background, and colours of middle brightness: it can be read on white and on black.

use std::{collections::BTreeMap, env, error::Error, fs, path::Path};

use plotters::{
    prelude::{
        ChartBuilder, Circle, IntoDrawingArea, IntoLogRange, LineSeries, PathElement, RGBColor, SVGBackend,
        SeriesLabelPosition, TRANSPARENT,
    },
    style::{Color, IntoFont, IntoTextStyle},
};

/// Name, title, what is on the x axis, what is on the y axis.
const CURVES: [[&str; 4]; 5] = [
    ["size", "A received chunk of text", "bytes of text", "instructions"],
    ["inflight", "A round trip, both ends", "requests in flight", "µs of processor time"],
    ["sessions", "A received chunk, by live sessions", "sessions", "ns of processor time"],
    ["connections", "A turn with 10 updates, by connections", "connections, both ends", "µs of processor time"],
    ["heap", "An idle connection with a session, both ends", "connections", "bytes of heap each"],
];

const GREY: RGBColor = RGBColor(136, 136, 136);

/// What is ours stands out.
fn colour(contender: &str) -> (RGBColor, u32) {
    match contender {
        "ours" => (RGBColor(214, 96, 40), 3),
        "official" => (RGBColor(70, 130, 200), 2),
        "floor-scan" => (RGBColor(60, 160, 110), 2),
        _ => (RGBColor(160, 130, 60), 2),
    }
}

type Lines = BTreeMap<String, Vec<(f64, f64)>>;

fn main() -> Result<(), Box<dyn Error>> {
    let [table, folder] = &env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err("plots CURVES.csv FOLDER".into());
    };
    let mut curves: BTreeMap<String, Lines> = BTreeMap::new();
    for line in fs::read_to_string(table)?.lines().skip(1) {
        let [curve, contender, x, y] = line.split(',').collect::<Vec<_>>()[..] else {
            return Err(format!("no row of four: {line}").into());
        };
        let points = curves.entry(curve.into()).or_default().entry(contender.into()).or_default();
        points.push((x.parse()?, y.parse()?));
    }
    for about in CURVES {
        if let Some(lines) = curves.get(about[0]) {
            draw(&Path::new(folder).join(about[0]).with_extension("svg"), about, lines)?;
        }
    }
    Ok(())
}

fn draw(path: &Path, [_, title, x_title, y_title]: [&str; 4], lines: &Lines) -> Result<(), Box<dyn Error>> {
    let all = || lines.values().flatten();
    let (left, right) = all().fold((f64::MAX, f64::MIN), |(low, high), (x, _)| (low.min(*x), high.max(*x)));
    let (low, high) = all().fold((f64::MAX, f64::MIN), |(low, high), (_, y)| (low.min(*y), high.max(*y)));
    let area = SVGBackend::new(path, (640, 400)).into_drawing_area();
    let text = |size: u32| ("sans-serif", size).into_font().color(&GREY);
    let mut chart = ChartBuilder::on(&area)
        .caption(title, text(18))
        .margin(12)
        .x_label_area_size(40)
        .y_label_area_size(70)
        .build_cartesian_2d((left..right * 1.1).log_scale(), (low / 1.5..high * 6.0).log_scale())?;
    let plain = |value: &f64| match *value {
        value if value >= 1e6 => format!("{} M", value / 1e6),
        value if value >= 1e4 => format!("{} k", value / 1e3),
        value => format!("{value}"),
    };
    chart
        .configure_mesh()
        .axis_style(GREY)
        .bold_line_style(GREY.mix(0.3))
        .light_line_style(TRANSPARENT)
        .y_labels(6)
        .x_desc(x_title)
        .y_desc(y_title)
        .axis_desc_style(text(14))
        .label_style(text(13))
        .x_label_formatter(&plain)
        .y_label_formatter(&plain)
        .draw()?;
    for (contender, points) in lines {
        let (colour, width) = colour(contender);
        let style = colour.stroke_width(width);
        chart
            .draw_series(LineSeries::new(points.iter().copied(), style))?
            .label(contender)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
        chart.draw_series(points.iter().map(|point| Circle::new(*point, 3, colour.filled())))?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .label_font(text(13).into_text_style(&area))
        .border_style(TRANSPARENT)
        .draw()?;
    area.present()?;
    Ok(())
}
