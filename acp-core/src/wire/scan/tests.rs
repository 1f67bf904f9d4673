use alloc::{format, string::String, vec::Vec};

use proptest::prelude::*;
use serde_json::value::RawValue;

use super::{Walk, json};

/// What serde says: the text of the one value.
fn expected(text: &str) -> Option<&str> {
    serde_json::from_str::<&RawValue>(text).ok().map(RawValue::get)
}

fn agrees(text: &str) {
    assert_eq!(json(text), expected(text), "{text:?}");
}

#[test]
fn every_byte_after_every_beginning_is_judged_as_serde_does() {
    let beginnings = [
        "",
        " ",
        "{",
        "{ ",
        "[",
        "[1",
        "[1,",
        "{\"a\"",
        "{\"a\":",
        "{\"a\":1",
        "{\"a\":1,",
        "\"",
        "\"\\",
        "\"\\u",
        "\"\\u00e",
        "\"\\ud800",
        "-",
        "0",
        "1",
        "-0",
        "1.",
        "1.5",
        "1e",
        "1e+",
        "1E-",
        "1e5",
        "t",
        "tru",
        "fals",
        "nul",
        "true",
        "{}",
        "[]",
        "[[",
        "[{",
        "{\"a\":[",
        "{\"a\":{",
        "[]]",
        "{\"a\":[}",
    ];
    let endings = ["", "\"", "}", "]", "1", "1]", "1}", "\":1}", "\"}", "00\"", " ", "e\"", "9\"]", "{}"];
    for beginning in beginnings {
        for ending in endings {
            for byte in 0..128_u8 {
                agrees(&format!("{beginning}{}{ending}", char::from(byte)));
            }
        }
    }
}

#[test]
fn a_fault_is_found_in_every_place_of_a_string() {
    for length in [0, 1, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 200] {
        for place in 0..=length {
            for piece in
                ["\"", "\\", "\\n", "\\\"", "\\\\", "\\u12aF", "\\u12g4", "\\x", "\n", "\u{1f}", "\u{7f}", "ü", "😀"]
            {
                let text = format!("[\"{}{piece}{}\"]", "x".repeat(place), "x".repeat(length - place));
                agrees(&text);
                agrees(text.get(..text.len() - 2).unwrap_or_default());
            }
        }
    }
}

#[test]
fn no_depth_is_too_deep() {
    for depth in [1, 63, 64, 65, 127, 128, 129, 100_000] {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            let inner = if open == "[" { "" } else { "1" };
            let text = format!("{}{inner}{}", open.repeat(depth), close.repeat(depth));
            agrees(&text);
            agrees(&format!("{text}{close}"));
            agrees(text.get(1..).unwrap_or_default());
        }
        let both = format!("{}1{}", "[{\"a\":".repeat(depth), "}]".repeat(depth));
        agrees(&both);
        agrees(&both.replacen("}]", "]}", 1));
    }
}

/// Text that looks much like JSON.
fn nearly_json() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[\\[\\]{},:\"]",
        2 => prop::sample::select(&["\"a\"", "\"id\":", "true", "null", "-1", "0.5e3", "\"\\u0041\"", "\"\\\\\"", "{\"a\":[1,{}]}"][..])
            .prop_map(String::from),
        1 => "[ \t\r\n]",
        1 => "[a-z0-9\\\\+.eE-]{1,3}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// JSON of any form.
fn well_formed() -> impl Strategy<Value = String> {
    let white = || "[ \t\r\n]{0,2}";
    let text =
        prop::collection::vec(prop_oneof!["[^\"\\\\[:cntrl:]]{0,40}", r#"\\["\\/bfnrt]"#, r"\\u[0-9a-fA-F]{4}"], 0..4)
            .prop_map(|pieces| format!("\"{}\"", pieces.concat()));
    let number = "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,5})?([eE][+-]?[0-9]{1,4})?";
    let leaf = prop_oneof![text.clone(), number, Just("true".into()), Just("false".into()), Just("null".into())];
    leaf.prop_recursive(6, 40, 4, move |inner| {
        let member = (text.clone(), white(), inner.clone(), white())
            .prop_map(|(key, a, value, b)| format!("{a}{key}{b}:{a}{value}{b}"));
        prop_oneof![
            (prop::collection::vec(inner, 0..4), white())
                .prop_map(|(all, a)| format!("[{a}{}{a}]", all.join(&format!("{a},{a}")))),
            (prop::collection::vec(member, 0..4), white()).prop_map(|(all, a)| format!("{{{a}{}{a}}}", all.join(","))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1024))]

    #[test]
    fn the_verdict_on_what_looks_like_json_is_that_of_serde(text in nearly_json()) {
        prop_assert_eq!(json(&text), expected(&text));
    }

    #[test]
    fn the_verdict_on_anything_is_that_of_serde(text in any::<String>(), bytes in prop::collection::vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(json(&text), expected(&text));
        if let Ok(text) = core::str::from_utf8(&bytes) {
            prop_assert_eq!(json(text), expected(text));
        }
    }

    #[test]
    fn what_is_well_formed_is_taken_and_one_changed_byte_is_judged_alike(
        text in well_formed(),
        place in any::<prop::sample::Index>(),
        byte in 0..128_u8,
    ) {
        prop_assert_eq!(json(&text), Some(text.trim_matches([' ', '\t', '\r', '\n'])));
        prop_assert_eq!(json(&text), expected(&text));
        let mut bytes = Vec::from(text);
        let place = place.index(bytes.len());
        bytes[place] = byte;
        if let Ok(changed) = core::str::from_utf8(&bytes) {
            prop_assert_eq!(json(changed), expected(changed));
        }
        bytes.truncate(place);
        if let Ok(cut) = core::str::from_utf8(&bytes) {
            prop_assert_eq!(json(cut), expected(cut));
        }
    }

    #[test]
    fn members_and_elements_are_those_that_serde_finds(text in well_formed()) {
        let mut walk = Walk::new(&text);
        let mut found = Vec::new();
        let took = walk.members(|_, value| found.push(value)).is_some() && walk.is_over();
        let expected: Option<Members<'_>> = serde_json::from_str(&text).ok();
        prop_assert_eq!(took, expected.is_some());
        if let Some(Members(expected)) = expected {
            prop_assert_eq!(found, expected);
        }
        let mut walk = Walk::new(&text);
        let mut found = Vec::new();
        let took = walk.elements(|walk| walk.value().map(|value| found.push(value))).is_some() && walk.is_over();
        let expected: Option<Vec<&RawValue>> = serde_json::from_str(&text).ok();
        prop_assert_eq!(took, expected.is_some());
        if let Some(expected) = expected {
            prop_assert_eq!(found, expected.into_iter().map(RawValue::get).collect::<Vec<_>>());
        }
    }
}

/// The values of an object, in order, as serde finds them.
struct Members<'a>(Vec<&'a str>);

impl<'de> serde::Deserialize<'de> for Members<'de> {
    fn deserialize<D: serde::Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut values = Vec::new();
                while map.next_key::<&RawValue>()?.is_some() {
                    values.push(map.next_value::<&RawValue>()?.get());
                }
                Ok(Members(values))
            }
        }
        json.deserialize_map(Visitor)
    }
}
