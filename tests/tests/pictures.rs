//! The pictures in `acp-core/docs/machines.md`: drawn from the machines themselves, by asking each of them for every state
//! and every input, and from a cancel that a real connection goes through. They must be current:
//!
//! ```sh
//! UPDATE=1 cargo test -p acp-tests --test pictures
//! ```

use core::{
    convert::Infallible,
    fmt::{Debug, Write},
};
use std::{collections::BTreeMap, env, fs, path::Path};

use acp_core::{
    machine::{
        Cancel, CancelInput, CancelKind, Foreground, Handshake, HandshakeInput, Lifecycle, LifecycleInput,
        LifecycleOutput, Machine, Setup, SetupInput, Shutdown, shutdown,
    },
    wire::StopReason,
};
use acp_tests::agent::{AgentBench, tool_call};

/// The lifecycle refuses nothing, and so is no `Machine`.
#[derive(Clone, Debug, Default, PartialEq)]
struct Life(Lifecycle<()>);

impl Machine for Life {
    type Input = LifecycleInput<()>;
    type Output = LifecycleOutput;
    type Reject = Infallible;

    fn step(&mut self, input: Self::Input) -> Result<LifecycleOutput, Infallible> {
        Ok(self.0.step(input))
    }
}

/// Every state that these inputs lead to, and every edge: what is refused changes nothing, and is left out.
fn diagram<M>(initial: &M, inputs: &[M::Input]) -> String
where
    M: Machine<Input: Clone + Debug, Output: Debug> + Clone + PartialEq + Debug,
{
    let (mut states, mut edges) = (vec![initial.clone()], BTreeMap::<(usize, usize), Vec<String>>::new());
    let mut at = 0;
    while at < states.len() {
        for input in inputs {
            let mut next = states[at].clone();
            let Ok(output) = next.step(input.clone()) else { continue };
            let place = states.iter().position(|state| *state == next).unwrap_or_else(|| {
                states.push(next);
                states.len() - 1
            });
            let output = format!("{output:?}");
            let label = if output == "()" { format!("{input:?}") } else { format!("{input:?} / {output}") };
            edges.entry((at, place)).or_default().push(label);
        }
        at += 1;
    }
    let mut out = String::from("```mermaid\nstateDiagram-v2\n    [*] --> s0\n");
    for (index, state) in states.iter().enumerate() {
        writeln!(out, "    s{index}: {}", plain(&format!("{state:?}"))).expect("a string");
    }
    for ((from, to), labels) in edges {
        writeln!(out, "    s{from} --> s{to}: {}", plain(&labels.join("<br>"))).expect("a string");
    }
    out + "```\n"
}

/// Mermaid takes braces, colons and quotes for its own.
fn plain(text: &str) -> String {
    text.replace(['{', '}', '"'], "").replace("Life(", "(").replace(": ", " ").replace("  ", " ").trim().to_owned()
}

/// What passes between a client, an agent and its host when a turn with a waiting prompt behind it is cancelled.
fn cancel() -> String {
    let mut agent = AgentBench::ready();
    let mut out = String::from(
        "```mermaid\nsequenceDiagram\n    participant C as client\n    participant A as agent\n    participant H as its host\n",
    );
    let mut step = |agent: &mut AgentBench, from: &str, what: &str| {
        writeln!(out, "    {from}: {what}").expect("a string");
        for told in agent.told() {
            writeln!(out, "    A-->>H: {}", plain(&told)).expect("a string");
        }
        for frame in agent.wire() {
            writeln!(out, "    A->>C: {}", plain(&frame)).expect("a string");
        }
    };
    agent.prompt(1, "s1");
    step(&mut agent, "C->>A", "session/prompt (1)");
    agent.update(1, tool_call("call")).expect("room");
    step(&mut agent, "H-->>A", "a tool call begins");
    agent.ask_permission(agent.turn(1)).expect("room");
    step(&mut agent, "H-->>A", "asks for permission");
    agent.prompt(2, "s1");
    step(&mut agent, "C->>A", "session/prompt (2), which waits");
    agent.cancel("s1");
    step(&mut agent, "C->>A", "session/cancel");
    agent.end(1, StopReason::EndTurn);
    step(&mut agent, "H-->>A", "ends the turn, whatever it says");
    out + "```\n"
}

fn document() -> String {
    let both = |input: fn(CancelKind) -> CancelInput| [input(CancelKind::Stop), input(CancelKind::Steer)];
    let cancels = [both(CancelInput::Ask), both(CancelInput::Sent), both(CancelInput::Failed)].concat();
    let handshake = [1, 2].map(HandshakeInput::Offer).into_iter().chain([1, 2].map(HandshakeInput::Settle));
    let handshake: Vec<_> =
        handshake.chain([HandshakeInput::Withdraw, HandshakeInput::Refuse, HandshakeInput::Use]).collect();
    let lifecycle =
        [LifecycleInput::End(()), LifecycleInput::Settled, LifecycleInput::Expired, LifecycleInput::Cut(())];
    let foreground = [Foreground::Idle, Foreground::Running, Foreground::RequiresAction, Foreground::Unknown];
    let setup = [SetupInput::Refused, SetupInput::Answered, SetupInput::LoggedIn, SetupInput::NotLoggedIn];
    let shutdown = [shutdown::Input::Begin, shutdown::Input::Expired, shutdown::Input::Exited];
    let pictures = [
        ("The connection: when `Closed` is told", diagram(&Life::default(), &lifecycle)),
        ("The handshake, of both versions", diagram(&Handshake::default(), &handshake)),
        ("A cancel, of both kinds", diagram(&Cancel::default(), &cancels)),
        ("Opening a session that may need a login", diagram(&Setup::Asking { login: true }, &setup)),
        ("What a session is at (version 2)", diagram(&Foreground::default(), &foreground)),
        ("The end of a child process", diagram(&Shutdown::default(), &shutdown)),
        ("A cancel in two phases, at the agent", cancel()),
    ];
    let mut document = String::from(
        "# The machines, drawn by themselves\n\nGenerated from the code by `tests/tests/pictures.rs`, which fails when they are not current. An edge says what \
         happens, and what follows; what a state refuses is left out, since it changes nothing.\n",
    );
    for (title, picture) in pictures {
        write!(document, "\n## {title}\n\n{picture}").expect("a string");
    }
    document
}

#[test]
fn the_pictures_are_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp-core/docs/machines.md");
    let drawn = document();
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, drawn).expect("written");
        return;
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == drawn,
        "not current: UPDATE=1, and look at the difference"
    );
}
