//! The pictures in `acp-core/docs/machines.md`: drawn from the machines themselves, by asking each of them for every state
//! and every input, and from a cancel that a real connection goes through. They must be current:
//!
//! ```sh
//! UPDATE=1 cargo test -p acp-tests --test pictures
//! ```

#[path = "pictures/conversation.rs"]
mod conversation;

use core::{convert::Infallible, fmt::Write};
use std::{env, fs, path::Path};

use acp_core::{
    machine::{
        Cancel, CancelInput, CancelKind, CancelScope, Foreground, Handshake, HandshakeInput, Incoming, IncomingInput,
        Lifecycle, LifecycleInput, LifecycleOutput, Machine, Outgoing, OutgoingInput, Overlap, Setup, SetupInput,
        Shutdown, Transcript, TranscriptInput, TurnInput, Turns, Work, WorkInput, shutdown,
    },
    wire::StopReason,
};
use acp_examples::trace::{page, story::Story};
use acp_tests::{
    agent::{AgentBench, tool_call},
    graph::{self, Graph, plain},
};

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

/// What stays the same in every label says nothing.
fn short(label: &str) -> String {
    let same = ["Cancelled { ", "Ended { ", "Unsent { ", ", delivered: false", ", void: []", ", steer: false"];
    let label = same.iter().fold(label.to_owned(), |label, same| label.replace(same, ""));
    label.replace("Session, Stop", "Stop").replace("Cancelled(", "Cancelled (").replace("dropped: [], ", "")
}

/// What a session does with two prompts, of which one waits, and a Stop.
fn turns() -> Graph {
    let initial = (Turns::new(Overlap::Queue(1)), 1);
    let name = |(turns, next): &(Turns, u64)| {
        let running = turns.running().map(|turn| match (turns.is_cancelling(), turns.has_unsent_cancel()) {
            (true, true) => format!("{turn} is to be cancelled"),
            (true, false) => format!("{turn} is being cancelled"),
            (false, _) => format!("{turn} runs"),
        });
        let waiting = turns.queued().map(|turn| format!("{turn} waits"));
        let all: Vec<_> = running.into_iter().chain(waiting).collect();
        if all.is_empty() { format!("idle, prompts so far {}", next - 1) } else { all.join(", ") }
    };
    let steps_of = |(turns, next): &(Turns, u64)| {
        let inputs = [
            TurnInput::Prompt(*next),
            TurnInput::Cancel(CancelScope::Session, CancelKind::Stop),
            TurnInput::Sent(CancelKind::Stop),
            TurnInput::Failed(CancelKind::Stop),
        ];
        // A cancel, or an end, of nothing is not drawn.
        let inputs = inputs.into_iter().filter(|input| match input {
            TurnInput::Prompt(turn) => *turn <= 2,
            _ => turns.running().is_some(),
        });
        let end = turns.running().map(TurnInput::End);
        let steps = graph::steps(turns, inputs.chain(end));
        let given = |label: &str| next + u64::from(label.starts_with("Prompt"));
        steps.into_iter().map(|(label, turns)| (short(&label), (turns, given(&label)))).collect()
    };
    Graph::new(initial, name, steps_of)
}

/// One request of ours, from before it is sent.
fn outgoing() -> Graph {
    let inputs = |of: &Outgoing<()>| {
        let first = (of.next_id() == Some(1)).then_some(OutgoingInput::Issue(()));
        let later = [
            OutgoingInput::Cancel(1),
            OutgoingInput::CancelFailed(1),
            OutgoingInput::Answer(1),
            OutgoingInput::Abandon(1),
        ];
        first.into_iter().chain(later)
    };
    let name = |of: &Outgoing<()>| match of.get(1) {
        None if of.next_id() == Some(1) => "not sent",
        None => "resolved",
        Some(()) if format!("{of:?}").contains("Pending") => "to be cancelled",
        Some(()) => "open",
    };
    Graph::new(Outgoing::new(2), |of| name(of).into(), |of| graph::steps(of, inputs(of)))
}

/// One request of the peer's.
fn incoming() -> Graph {
    let arrive = IncomingInput::Arrive { id: 'a', counts: true, about: () };
    let inputs = [arrive, IncomingInput::Cancel('a'), IncomingInput::Signal(1), IncomingInput::Answer(1)];
    let steps = |of: &Incoming<char, ()>| {
        let later = of.is_empty() && *of != Incoming::new(2);
        if later { Vec::new() } else { graph::steps(of, inputs.iter().cloned()) }
    };
    let name = |of: &Incoming<char, ()>| match of.iter().next() {
        None if *of == Incoming::new(2) => "not here",
        None => "answered",
        Some(_) if format!("{of:?}").contains("cancel_seen: true") => "its owner was asked to stop",
        Some(_) => "waits",
    };
    Graph::new(Incoming::new(2), |of| name(of).into(), steps)
}

/// A prompt of version 2, and the state of its session.
fn work() -> Graph {
    let initial = (Work::default(), true);
    let name = |(work, unsent): &(Work, bool)| {
        let (inserted, known) = (work.is_inserted(1), format!("{work:?}").contains("turn"));
        let prompt = match (inserted, known) {
            (true, _) => "the prompt is inserted",
            (false, true) => "a prompt waits",
            (false, false) if *unsent => "no prompt",
            (false, false) => "the prompt is over",
        };
        format!("{prompt}, {:?}", work.foreground())
    };
    let steps = |(work, unsent): &(Work, bool)| {
        let prompt = unsent.then_some(WorkInput::Prompt { turn: 1, behind_cancel: false });
        let later = [
            WorkInput::Insert { turn: 1, cancelled: false },
            WorkInput::End { turn: 1, done: false },
            WorkInput::Report(Foreground::Running),
            WorkInput::Report(Foreground::Idle),
        ];
        let later = later.into_iter().filter(|_| !unsent);
        let steps = graph::steps(work, prompt.into_iter().chain(later));
        steps.into_iter().map(|(label, work)| (label.replace(", cancelled: false", ""), (work, false))).collect()
    };
    Graph::new(initial, name, steps)
}

/// Two tool calls of a turn.
fn transcript() -> Graph {
    let inputs = [
        TranscriptInput::Open("a"),
        TranscriptInput::Finished("a"),
        TranscriptInput::Open("b"),
        TranscriptInput::Finished("b"),
    ];
    let name = |of: &Transcript| format!("open [{}]", of.open().collect::<Vec<_>>().join(", "));
    let after = |of: &Transcript, input| {
        let mut next = of.clone();
        next.step(input);
        (format!("{input:?}"), next)
    };
    let steps = |of: &Transcript| inputs.map(|input| after(of, input)).into();
    Graph::new(Transcript::default(), name, steps)
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

fn pictures() -> Vec<(&'static str, &'static str, Graph)> {
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
    vec![
        ("turns", "The prompt turns of a session: two prompts, of which one waits, and a Stop", turns()),
        ("cancel", "A cancel, of both kinds", Graph::of(Cancel::default(), &cancels)),
        ("lifecycle", "The connection: when `Closed` is told", Graph::of(Life::default(), &lifecycle)),
        ("handshake", "The handshake, of both versions", Graph::of(Handshake::default(), &handshake)),
        ("setup", "Opening a session that may need a login", Graph::of(Setup::Asking { login: true }, &setup)),
        ("outgoing", "A request of ours", outgoing()),
        ("incoming", "A request of the peer's", incoming()),
        ("transcript", "Two tool calls of a turn", transcript()),
        ("foreground", "What a session is at (version 2)", Graph::of(Foreground::default(), &foreground)),
        ("work", "A prompt of version 2, and the state of its session", work()),
        ("shutdown", "The end of a child process", Graph::of(Shutdown::default(), &shutdown)),
    ]
}

fn document() -> String {
    let mut document = String::from(
        "# The machines, drawn by themselves\n\nGenerated from the code by `tests/tests/pictures.rs`, which fails when they are not current. An edge says what \
         happens, and what follows; what a state refuses is left out, since it changes nothing. The same as SVG stand in \
         `docs/machines/`, and in the docs of each machine.\n",
    );
    for (_, title, graph) in pictures() {
        write!(document, "\n## {title}\n\n{}", graph.mermaid()).expect("a string");
    }
    write!(document, "\n## A cancel in two phases, at the agent\n\n{}", cancel()).expect("a string");
    document
}

/// What is drawn here stands there, unless it is to be written anew.
fn is_current(path: &str, drawn: &str) -> bool {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../acp-core/docs").join(path);
    if env::var_os("UPDATE").is_some() {
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(&path, drawn).expect("written");
    }
    fs::read_to_string(&path).is_ok_and(|stands| stands == drawn)
}

#[test]
fn the_pictures_are_current() {
    let two_phases = ("cancel.svg".to_owned(), page::svg(&Story::of(&conversation::cancel(), &[])));
    let graphs = pictures().into_iter().map(|(name, _, graph)| (format!("machines/{name}.svg"), graph.svg()));
    let all = graphs.chain([("machines.md".into(), document()), two_phases]);
    let stale: Vec<_> = all.filter(|(path, drawn)| !is_current(path, drawn)).map(|(path, _)| path).collect();
    assert!(stale.is_empty(), "not current: {stale:?}. UPDATE=1, and look at the difference");
}
