//! Reads Rust source far enough to say which paths it names: no types, no macros expanded, no dependency.
//!
//! Comments and literals go first, then everything under `#[cfg(test)]`. What remains are words and punctuation; each run
//! of `word::word` and each branch of a `use` tree becomes a [`Path`] that is resolved against the module it stands in.

/// A word, `::`, or one character of punctuation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// What a source file names: `crate`, `super` and `self` are resolved, so `segments` starts at the crate's root if `ours`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) ours: bool,
    pub(crate) segments: Vec<String>,
    pub(crate) line: usize,
}

/// The tokens of `source`, without comments, literals and lifetimes.
pub(crate) fn tokens(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let (mut found, mut i, mut line) = (Vec::new(), 0, 1);
    while i < chars.len() {
        let start = i;
        match at(i) {
            '/' if at(i + 1) == '/' => i = end_of(&chars, i, |c| c == '\n'),
            '/' if at(i + 1) == '*' => i = after_block_comment(&chars, i),
            '"' => i = after_string(&chars, i),
            '\'' if at(i + 1) == '\\' => i = end_of(&chars, i + 3, |c| c == '\'') + 1,
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i = end_of(&chars, i + 1, |c| !is_word(c)),
            c if is_word(c) => {
                i = end_of(&chars, i, |c| !is_word(c));
                let word: String = chars[start..i].iter().collect();
                if let Some(end) = after_raw_string(&chars, i, &word) {
                    i = end;
                } else if word == "r" && at(i) == '#' {
                    i += 1; // r#type: the word that follows is the name
                } else {
                    found.push(Token { text: word, line });
                }
            }
            ':' if at(i + 1) == ':' => {
                found.push(Token { text: "::".into(), line });
                i += 2;
            }
            c => {
                if !c.is_whitespace() {
                    found.push(Token { text: c.into(), line });
                }
                i += 1;
            }
        }
        i = i.min(chars.len());
        line += chars[start..i].iter().filter(|c| **c == '\n').count();
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn end_of(chars: &[char], from: usize, stop: impl Fn(char) -> bool) -> usize {
    (from..chars.len()).find(|i| stop(chars[*i])).unwrap_or(chars.len())
}

fn after_block_comment(chars: &[char], mut i: usize) -> usize {
    let mut depth = 0;
    while i < chars.len() {
        match (chars[i], chars.get(i + 1)) {
            ('/', Some('*')) => (depth, i) = (depth + 1, i + 2),
            ('*', Some('/')) => (depth, i) = (depth - 1, i + 2),
            _ => i += 1,
        }
        if depth == 0 {
            break;
        }
    }
    i
}

fn after_string(chars: &[char], quote: usize) -> usize {
    let mut i = quote + 1;
    while i < chars.len() && chars[i] != '"' {
        i += if chars[i] == '\\' { 2 } else { 1 };
    }
    i + 1
}

/// `i` is just behind `prefix`: the end of `r"…"`, `br#"…"#` and the like, if that is what stands here.
fn after_raw_string(chars: &[char], i: usize, prefix: &str) -> Option<usize> {
    if !matches!(prefix, "r" | "br" | "cr") {
        return None;
    }
    let quote = end_of(chars, i, |c| c != '#');
    if chars.get(quote) != Some(&'"') {
        return None;
    }
    let hashes = quote - i;
    let closes = |at: usize| chars[at] == '"' && chars[at + 1..].iter().take_while(|c| **c == '#').count() >= hashes;
    Some((quote + 1..chars.len()).find(|at| closes(*at)).map_or(chars.len(), |at| at + 1 + hashes))
}

/// What ships of `tokens`: nothing under `#[cfg(test)]`. Also the names of the test modules that live in a file of their own.
pub(crate) fn shipped(tokens: &[Token]) -> (Vec<Token>, Vec<String>) {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let is_test =
        |i: usize| text(i) == "cfg" && (text(i + 2) == "test" || (text(i + 2) == "all" && text(i + 4) == "test"));
    let (mut kept, mut files, mut i) = (Vec::new(), Vec::new(), 0);
    while i < tokens.len() {
        if text(i) == "#" && text(i + 1) == "!" && is_test(i + 3) {
            break;
        }
        if text(i) != "#" || !is_test(i + 2) {
            kept.push(tokens[i].clone());
            i += 1;
            continue;
        }
        let end = after_item(tokens, i);
        if let Some(name) = file_module(&tokens[i..end]) {
            files.push(name);
        }
        i = end;
    }
    (kept, files)
}

/// The end of the item at `i`, attributes included: its `;`, or the brace that closes it.
fn after_item(tokens: &[Token], mut i: usize) -> usize {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    while text(i) == "#" {
        i = after_group(tokens, i + 1);
    }
    if text(i) == "pub" {
        i = if text(i + 1) == "(" { after_group(tokens, i + 1) } else { i + 1 };
    }
    let is_use = text(i) == "use";
    while i < tokens.len() {
        match text(i) {
            ";" => return i + 1,
            "{" if !is_use => return after_group(tokens, i),
            "(" | "[" | "{" => i = after_group(tokens, i),
            ")" | "]" | "}" => return i, // the end of what the item stands in: a field, an arm, an expression
            _ => i += 1,
        }
    }
    i
}

fn after_group(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (i, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return i + 1;
        }
    }
    tokens.len()
}

fn file_module(item: &[Token]) -> Option<String> {
    let [.., keyword, name, end] = item else { return None };
    (keyword.text == "mod" && end.text == ";").then(|| name.text.clone())
}

/// Every path that `tokens` name, read as the body of the module `home` (empty: the root).
pub(crate) fn paths(tokens: &[Token], home: &[String]) -> Vec<Path> {
    let text = |i: usize| tokens.get(i).map_or("", |token| token.text.as_str());
    let mut here: Vec<String> = home.to_vec();
    let mut inline_modules = Vec::new(); // the depth of the braces each was opened at
    let (mut found, mut depth, mut i) = (Vec::new(), 0_usize, 0);
    while i < tokens.len() {
        match text(i) {
            "mod" if text(i + 2) == "{" => {
                here.push(text(i + 1).into());
                inline_modules.push(depth);
                (depth, i) = (depth + 1, i + 3);
            }
            "{" => (depth, i) = (depth + 1, i + 1),
            "}" => {
                depth = depth.saturating_sub(1);
                if inline_modules.last() == Some(&depth) {
                    inline_modules.pop();
                    here.pop();
                }
                i += 1;
            }
            // `impl use<'a>` captures lifetimes and imports nothing.
            "use" if text(i + 1) != "<" => {
                i += 1;
                use_tree(tokens, &mut i, &[], &mut |names, line| found.push(resolve(names, line, &here)));
            }
            "extern" if text(i + 1) == "crate" => {
                found.push(resolve(&[text(i + 2).into()], tokens[i].line, &here));
                i += 3;
            }
            word if word.starts_with(is_word) && text(i + 1) == "::" => {
                let (mut names, line) = (vec![word.to_owned()], tokens[i].line);
                i += 1;
                while text(i) == "::" && text(i + 1).starts_with(is_word) {
                    names.push(text(i + 1).into());
                    i += 2;
                }
                found.push(resolve(&names, line, &here));
            }
            // The tail of `<T as Trait>::name` or `vec::<T>::name` starts no path; a leading `::` starts a foreign one.
            "::" if i > 1 && text(i - 1) == ">" && !matches!(text(i - 2), "-" | "=") => i += 2,
            _ => i += 1,
        }
    }
    found
}

fn use_tree(tokens: &[Token], i: &mut usize, prefix: &[String], found: &mut impl FnMut(&[String], usize)) {
    let mut names = prefix.to_vec();
    let mut line = tokens.get(*i).map_or(0, |token| token.line);
    while let Some(token) = tokens.get(*i) {
        *i += 1;
        match token.text.as_str() {
            "{" => {
                while tokens.get(*i).is_some_and(|token| token.text != "}") {
                    use_tree(tokens, i, &names, found);
                    *i += usize::from(tokens.get(*i).is_some_and(|token| token.text == ","));
                }
                *i += 1;
                return;
            }
            "," | "}" | ";" => {
                *i -= 1;
                break;
            }
            "as" => *i += 1,
            "::" => {}
            "self" if !names.is_empty() => {}
            name => {
                names.push(name.into());
                line = token.line;
            }
        }
    }
    found(&names, line);
}

fn resolve(names: &[String], line: usize, here: &[String]) -> Path {
    let mut names = names.to_vec();
    let ours = matches!(names.first().map(String::as_str), Some("crate" | "self" | "super" | "acp_core"));
    if ours {
        let from_root = matches!(names[0].as_str(), "crate" | "acp_core");
        let mut base = if from_root { Vec::new() } else { here.to_vec() };
        let climbs = names.iter().take_while(|name| matches!(name.as_str(), "crate" | "self" | "super" | "acp_core"));
        let (mut skipped, mut ups) = (0, 0);
        for name in climbs {
            skipped += 1;
            ups += usize::from(name == "super");
        }
        base.truncate(base.len().saturating_sub(ups));
        base.extend(names.drain(skipped..));
        names = base;
    }
    Path { ours, segments: names, line }
}
