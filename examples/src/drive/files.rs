//! `fs/read_text_file` and `fs/write_text_file`, inside of the session's directory only.

use std::{
    io,
    path::{Component, Path, PathBuf},
};

use acp_core::{ErrorObject, Payload, wire::code};
use serde::Deserialize;
use serde_json::json;

use crate::shape::{LINE, internal, invalid_params, payload};

/// The parameters of `fs/read_text_file`.
#[derive(Debug, Deserialize)]
pub(super) struct Read {
    path: String,
    /// The first line to read, from 1.
    line: Option<usize>,
    /// How many lines to read.
    limit: Option<usize>,
}

/// The parameters of `fs/write_text_file`.
#[derive(Debug, Deserialize)]
pub(super) struct Write {
    path: String,
    content: String,
}

pub(super) async fn read(root: &Path, asked: Read) -> Result<Payload, ErrorObject> {
    let path = inside(root, &asked.path)?;
    let failed = |why| failed(&asked.path, &why);
    let size = tokio::fs::metadata(&path).await.map_err(failed)?.len();
    if size > LINE as u64 {
        return Err(internal(format!("{} has {size} bytes, and an answer holds {LINE}", asked.path)));
    }
    let text = tokio::fs::read_to_string(&path).await.map_err(failed)?;
    let content = match (asked.line, asked.limit) {
        (None, None) => text,
        (line, limit) => {
            let lines = text.split_inclusive('\n').skip(line.unwrap_or(1).saturating_sub(1));
            lines.take(limit.unwrap_or(usize::MAX)).collect()
        }
    };
    Ok(payload(json!({ "content": content })))
}

pub(super) async fn write(root: &Path, asked: Write) -> Result<Payload, ErrorObject> {
    let path = inside(root, &asked.path)?;
    tokio::fs::write(&path, asked.content).await.map_err(|why| failed(&asked.path, &why))?;
    Ok(Payload::EMPTY)
}

/// The real path, if it is inside of `root`, which is one itself. What does not exist yet is where its directory is.
fn inside(root: &Path, asked: &str) -> Result<PathBuf, ErrorObject> {
    let path = Path::new(asked);
    if !path.is_absolute() {
        return Err(invalid_params(format!("`path` must be absolute, not {asked:?}")));
    }
    let outside = || invalid_params(format!("{asked} is outside of {}, where files are served", root.display()));
    // Links decide where a path leads, as far as it exists; beyond that there must be plain names.
    let mut known =
        path.ancestors().filter_map(|part| Some((part.canonicalize().ok()?, path.strip_prefix(part).ok()?)));
    let (real, rest) = known.next().ok_or_else(outside)?;
    let plain = rest.components().all(|part| matches!(part, Component::Normal(_)));
    let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
    // A link that leads nowhere would be followed by whoever creates its target.
    if plain && real.starts_with(root) && !real.is_symlink() { Ok(real) } else { Err(outside()) }
}

fn failed(path: &str, why: &io::Error) -> ErrorObject {
    match why.kind() {
        io::ErrorKind::NotFound => ErrorObject::new(code::RESOURCE_NOT_FOUND, format!("{path}: {why}"))
            .with_data(payload(json!({ "uri": path }))),
        _ => internal(format!("{path}: {why}")),
    }
}

#[cfg(test)]
mod tests {
    use super::inside;
    use std::fs;

    #[test]
    fn no_path_leads_out_of_the_root() -> std::io::Result<()> {
        let root = std::env::temp_dir().canonicalize()?.join(format!("acp-files-{}", std::process::id()));
        fs::create_dir_all(root.join("sub"))?;
        let path = |name: &str| root.join(name).display().to_string();
        for good in ["new.txt", "sub/new.txt", "sub/../new.txt"] {
            assert!(inside(&root, &path(good)).is_ok(), "{good}");
        }
        for bad in ["..", "../x", "none/../../x", "sub/../../x"] {
            assert!(inside(&root, &path(bad)).is_err(), "{bad}");
        }
        assert!(inside(&root, "sub/new.txt").is_err());
        #[cfg(unix)]
        for (name, target) in [("out", "/"), ("dangling", "/no/such/file")] {
            std::os::unix::fs::symlink(target, root.join(name))?;
            assert!(inside(&root, &path(name)).is_err(), "{name}");
        }
        fs::remove_dir_all(root)
    }
}
