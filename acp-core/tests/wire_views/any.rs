//! Values to look at: such as they should be, such as they are now and then, and anything at all.

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value};

use super::shapes::{CONTENT, Field, Need, Shape, TOOL_CONTENT, UPDATES_V1, UPDATES_V2};

/// Anything that is JSON, with the names of members and kinds among it.
pub(crate) fn junk() -> BoxedStrategy<Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-4000_i32..4000).prop_map(|n| Value::from(f64::from(n) / 4.0)),
        text(),
    ];
    leaf.prop_recursive(3, 16, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::from),
            vec((word(), inner), 0..4).prop_map(|all| all.into_iter().collect::<Map<_, _>>().into()),
        ]
    })
    .boxed()
}

fn word() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "type",
        "text",
        "content",
        "id",
        "configId",
        "options",
        "toolCallId",
        "update",
        "sessionUpdate",
        "sessionId",
        "plan",
    ];
    prop_oneof![select(KNOWN).prop_map(str::to_owned), "[a-z_é\"\\\\]{0,6}"]
}

pub(crate) fn text() -> impl Strategy<Value = Value> {
    prop_oneof!["[a-zé\n\"\\\\\u{1}😀]{0,8}", word()].prop_map(Value::from)
}

/// A value of this shape: as it should be for the most part, with something else in the place of a part now and then.
pub(crate) fn some(shape: &'static Shape) -> BoxedStrategy<Value> {
    let good = match shape {
        Shape::Text => text().boxed(),
        Shape::YesNo => any::<bool>().prop_map(Value::from).boxed(),
        Shape::Number => (-4000_i32..4000).prop_map(|n| Value::from(f64::from(n) / 4.0)).boxed(),
        Shape::Whole { most, signed: false } => prop_oneof![0..=*most, 0..=9_u64].prop_map(Value::from).boxed(),
        Shape::Whole { .. } => any::<i64>().prop_map(Value::from).boxed(),
        Shape::Any => junk(),
        Shape::List(of) => vec(some(of), 0..4).prop_map(Value::from).boxed(),
        Shape::Object(fields) => members(fields),
        Shape::Kinds(by, kinds) => prop_oneof![
            9 => (0..kinds.len()).prop_flat_map(|at| {
                let (kind, shape) = &kinds[at];
                some(shape).prop_map(move |value| (*kind, value))
            }),
            1 => members(&[]).prop_map(|value| ("_vendor", value)),
        ]
        .prop_map(|(kind, mut value)| {
            if let Some(object) = value.as_object_mut() {
                object.insert((*by).to_owned(), kind.into());
            }
            value
        })
        .boxed(),
        Shape::Either(_, with, without) => prop_oneof![some(with), some(without)].boxed(),
        Shape::OfTool => prop_oneof![some(&TOOL_CONTENT), some(&CONTENT)].boxed(),
        Shape::And(object, part) => (some(object), some(part))
            .prop_map(|(mut object, part)| {
                if let (Some(object), Value::Object(part)) = (object.as_object_mut(), part) {
                    object.extend(part);
                }
                object
            })
            .boxed(),
    };
    prop_oneof![12 => good, 1 => junk()].boxed()
}

fn members(fields: &'static [Field]) -> BoxedStrategy<Value> {
    let own: Vec<_> = fields
        .iter()
        .map(|Field { names, need, shape }| {
            let there = if *need == Need::Must { 0.95 } else { 0.6 };
            (prop::option::weighted(there, some(shape)), select(*names), prop::bool::weighted(0.1), Just(*need))
        })
        .collect();
    (own, prop::option::weighted(0.3, ("_[a-z]{1,3}", junk())))
        .prop_map(|(own, other)| {
            let own = own.into_iter().filter_map(|(value, name, null, need)| {
                let value = value?;
                Some((name.to_owned(), if null && need == Need::Patch { Value::Null } else { value }))
            });
            own.chain(other).collect::<Map<_, _>>().into()
        })
        .boxed()
}

/// The text of a value: with white space, and with escapes where they are not needed, if so wanted.
pub(crate) fn written(value: &Value, wide: bool, escaped: bool) -> String {
    let text = if wide { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) }.expect("JSON");
    if !escaped {
        return text;
    }
    let (mut out, mut inside, mut after) = (String::new(), false, false);
    for char in text.chars() {
        match char {
            't' if inside && !after => out.push_str("\\u0074"),
            char => out.push(char),
        }
        inside ^= char == '"' && !after;
        after = char == '\\' && !after;
    }
    out
}

pub(crate) fn any_update() -> impl Strategy<Value = (&'static str, &'static Shape, Value)> {
    let all: Vec<&'static (&'static str, Shape)> = UPDATES_V1.iter().chain(UPDATES_V2).collect();
    select(all).prop_flat_map(|(kind, shape)| {
        some(shape).prop_map(move |mut value| {
            if let Some(object) = value.as_object_mut() {
                object.insert("sessionUpdate".to_owned(), (*kind).into());
            }
            (*kind, shape, value)
        })
    })
}
