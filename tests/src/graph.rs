//! The graph of a machine, found by asking it for every state and every input, and drawn: as Mermaid for Markdown, as SVG
//! for the docs.

use core::fmt::{Debug, Write as _};
use std::collections::BTreeMap;

use acp_core::machine::Machine;
use layout::{
    backends::svg::SVGWriter,
    core::{base::Orientation, geometry::Point, style::StyleAttr},
    std_shapes::shapes::{Arrow, Element, ShapeKind},
    topo::layout::VisualGraph,
};

/// States, and what leads from one to another.
#[derive(Debug)]
pub struct Graph {
    /// As they are called. The first is where it begins.
    states: Vec<String>,
    /// From and to, by their places, with all that leads there, and what follows.
    edges: BTreeMap<(usize, usize), Vec<String>>,
}

impl Graph {
    /// Every state that `steps` lead to, and every step. States that have the same name are one.
    pub fn new<S>(initial: S, name: impl Fn(&S) -> String, steps: impl Fn(&S) -> Vec<(String, S)>) -> Self {
        let (mut names, mut states, mut edges) = (vec![plain(&name(&initial))], vec![initial], BTreeMap::new());
        let mut at = 0;
        while let Some(state) = states.get(at) {
            for (label, next) in steps(state) {
                let called = plain(&name(&next));
                let place = names.iter().position(|name| *name == called).unwrap_or_else(|| {
                    names.push(called);
                    states.push(next);
                    names.len() - 1
                });
                let labels: &mut Vec<_> = edges.entry((at, place)).or_default();
                labels.push(plain(&label));
            }
            at += 1;
        }
        Self { states: names, edges }
    }

    /// That of a machine with few states. What it refuses changes nothing, and is left out.
    pub fn of<M>(initial: M, inputs: &[M::Input]) -> Self
    where
        M: Machine<Input: Clone + Debug, Output: Debug> + Clone + Debug,
    {
        Self::new(initial, |state| format!("{state:?}"), |state| steps(state, inputs.iter().cloned()))
    }

    /// For Markdown that knows Mermaid.
    #[must_use]
    pub fn mermaid(&self) -> String {
        let mut out = String::from("```mermaid\nstateDiagram-v2\n    [*] --> s0\n");
        for (index, state) in self.states.iter().enumerate() {
            let _ = writeln!(out, "    s{index}: {state}");
        }
        for ((from, to), labels) in &self.edges {
            let _ = writeln!(out, "    s{from} --> s{to}: {}", labels.join("<br>"));
        }
        out + "```\n"
    }

    /// A picture in the colour of the text around it: which input leads where. What leaves a state as it is, and what
    /// follows, is left to the text.
    #[must_use]
    pub fn svg(&self) -> String {
        let mut graph = VisualGraph::new(Orientation::TopToBottom);
        let boxes = self.states.iter().map(|state| {
            let size = Point::new(24.0 + 8.0 * state.chars().count() as f64, 36.0);
            let (shape, look) = (ShapeKind::new_box(state), StyleAttr::simple());
            graph.add_node(Element::create(shape, look, Orientation::TopToBottom, size))
        });
        let boxes: Vec<_> = boxes.collect();
        for ((from, to), labels) in self.edges.iter().filter(|((from, to), _)| from != to) {
            let inputs: Vec<_> = labels.iter().map(|label| label.split(" / ").next().unwrap_or(label)).collect();
            graph.add_edge(Arrow::simple(&inputs.join("\n")), boxes[*from], boxes[*to]);
        }
        let mut picture = SVGWriter::new();
        graph.do_it(false, false, false, &mut picture);
        let picture = picture.finalize();
        // Its first tag is written anew: labels may reach beyond the boxes, and a narrow page wants a small picture.
        let number = |name: &str| -> Option<f64> {
            picture.split_once(&format!(" {name}=\""))?.1.split_once('"')?.0.parse().ok()
        };
        let (width, height) = (number("width").unwrap_or(0.0) + 160.0, number("height").unwrap_or(0.0));
        let tag = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"-80 0 {width} {height}\" style=\"width:100%;max-width:{width}px\">\n"
        );
        let body = picture.split_once("<defs>").map_or("", |(_, body)| body);
        let picture = format!("{tag}<defs>{body}");
        // Black on white is not to be read on a dark page. An empty line would end the picture in Markdown.
        let picture = picture
            .replace("#000000ff", "currentColor")
            .replace("#ffffffff", "none")
            .replace("font-family: Times, serif;", "font-family: sans-serif; fill: currentColor;");
        let lines = picture.lines().map(str::trim).filter(|line| !line.is_empty());
        lines.fold(String::new(), |out, line| out + line + "\n")
    }
}

/// What these inputs lead to from here.
pub fn steps<M>(state: &M, inputs: impl IntoIterator<Item = M::Input>) -> Vec<(String, M)>
where
    M: Machine<Input: Clone + Debug, Output: Debug> + Clone,
{
    let step = |input: M::Input| {
        let mut next = state.clone();
        let output = format!("{:?}", next.step(input.clone()).ok()?);
        Some((if output == "()" { format!("{input:?}") } else { format!("{input:?} / {output}") }, next))
    };
    inputs.into_iter().filter_map(step).collect()
}

/// Mermaid takes braces, colons and quotes for its own.
#[must_use]
pub fn plain(text: &str) -> String {
    let text = text.replace(['{', '}', '"'], "").replace(": ", " ").replace("  ", " ");
    text.replace(" ,", ",").replace(" )", ")").trim().to_owned()
}
