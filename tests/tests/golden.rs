//! Golden transcripts: conversations as recordings (`acp_core::replay` describes the format), with all that comes out of
//! them: bytes, actions, deadlines. The published examples of the protocol in words of our own, and faults of the field.
//!
//! To add one, write the calls, and let the outputs be made; then read them:
//!
//! ```sh
//! UPDATE=1 cargo test -p acp-tests --test golden && git diff tests/golden
//! ```

use std::{env, fs, path::Path};

use acp_core::replay::rerun;
use acp_tests::taped::check;

#[test]
fn every_golden_transcript_comes_out_as_it_stands() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("golden");
    let mut count = 0;
    for file in fs::read_dir(folder).expect("the golden transcripts") {
        let path = file.expect("a file").path();
        let recording = fs::read_to_string(&path).expect("UTF-8");
        let again = rerun(&recording).unwrap_or_else(|why| panic!("{}: {why}", path.display()));
        if env::var_os("UPDATE").is_some() {
            fs::write(&path, again).expect("written");
        } else {
            for (line, (stands, comes)) in recording.lines().zip(again.lines()).enumerate() {
                assert_eq!(stands, comes, "{}, line {}", path.display(), line + 1);
            }
            assert_eq!(recording.len(), again.len(), "{}", path.display());
            check(&recording);
        }
        count += 1;
    }
    assert!(count >= 11, "only {count} transcripts");
}
