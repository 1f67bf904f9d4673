//! Shows a trace and checks it: `trace FILE`, `trace --check FILE`, `trace --html OUT FILE`. `--help` says the rest.

use std::process::ExitCode;

fn main() -> ExitCode {
    acp_examples::trace::main()
}
