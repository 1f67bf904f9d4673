//! What the fuzzer calls, one function a target: each takes any bytes and panics if a rule is broken. `../fuzz` has the
//! targets; `cargo test` calls the same functions with the inputs that are kept there, and with random ones.

mod ends;
mod hosts;
mod lines;
mod wire;

pub use self::{
    ends::{agent, client},
    lines::LINES,
    wire::{deframer, envelope},
};
use crate::model::{Model, Twin, settings};

/// What takes any bytes.
pub type Target = fn(&[u8]);

/// The targets, by name.
pub const TARGETS: [(&str, Target); 5] =
    [("deframer", deframer), ("envelope", envelope), ("agent", agent), ("client", client), ("pair", pair)];

/// Bytes as decisions. When they are used up every decision is the first one.
#[derive(Debug)]
struct Decisions<'a>(&'a [u8]);

impl<'a> Decisions<'a> {
    fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let (first, rest) = self.0.split_first().unwrap_or((&0, &[]));
        self.0 = rest;
        *first
    }

    /// A number below this one.
    fn below(&mut self, limit: usize) -> usize {
        let byte = usize::from(self.byte());
        if limit <= 256 { byte % limit } else { (byte * 256 + usize::from(self.byte())) % limit }
    }

    /// So many bytes, if there are.
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }
}

/// Both ends against the reference model: the first byte chooses the setting, each further one a step.
///
/// # Panics
///
/// The ends do something else than the model says.
pub fn pair(data: &[u8]) {
    let mut decisions = Decisions(data);
    let settings = settings();
    let mut model = Model::new(settings[decisions.below(settings.len())]);
    let mut twin = Twin::new(model.setting());
    for _ in 0..400 {
        if decisions.is_over() {
            break;
        }
        let choices = model.choices();
        let step = choices[decisions.below(choices.len())];
        model.apply(step);
        twin.follow(step, &model);
    }
    twin.wind_up(model);
}
