//! One row of the table, and how it is run.

use acp_core::{Agent, Client, Config, Payload, Role};
use acp_tests::{
    describe::Describe,
    wire::{Wire, raw},
};
use bytes::Bytes;

/// What one step gave: frames, actions, and the deadline that is armed then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) frames: Vec<String>,
    pub(crate) actions: Vec<String>,
    pub(crate) due: Option<String>,
}

/// Bytes in; frames, actions and timers out.
pub(crate) struct Case<R: Role> {
    /// The rule, in words.
    pub(crate) name: &'static str,
    start: fn(fn(&mut Config)) -> Wire<R>,
    config: fn(&mut Config),
    pub(crate) input: Vec<u8>,
    pub(crate) input_said: Said,
    after: Option<fn(&mut Wire<R>)>,
    pub(crate) after_said: Said,
    /// The input is followed by the end of the stream, so nothing can stand behind it.
    pub(crate) ends: bool,
}

impl<R: Role> Case<R>
where
    R::Action: Describe<R>,
{
    /// Nothing comes of it, unless it is said.
    pub(crate) fn new(name: &'static str, start: fn(fn(&mut Config)) -> Wire<R>, input: impl AsRef<[u8]>) -> Self {
        Self {
            name,
            start,
            config: |_| {},
            input: input.as_ref().to_vec(),
            input_said: Said::default(),
            after: None,
            after_said: Said::default(),
            ends: false,
        }
    }

    /// With this policy.
    pub(crate) fn config(self, config: fn(&mut Config)) -> Self {
        Self { config, ..self }
    }

    /// These frames come of it.
    pub(crate) fn frames<S: ToString>(mut self, frames: impl IntoIterator<Item = S>) -> Self {
        self.said().frames = frames.into_iter().map(|one| one.to_string()).collect();
        self
    }

    /// These actions come of it.
    pub(crate) fn actions<S: ToString>(mut self, actions: impl IntoIterator<Item = S>) -> Self {
        self.said().actions = actions.into_iter().map(|one| one.to_string()).collect();
        self
    }

    /// This deadline is the next.
    pub(crate) fn due(mut self, due: &str) -> Self {
        self.said().due = Some(due.to_owned());
        self
    }

    fn said(&mut self) -> &mut Said {
        if self.after.is_some() { &mut self.after_said } else { &mut self.input_said }
    }

    /// Afterwards the host does this. What is said from here on comes of that.
    pub(crate) fn then(self, after: fn(&mut Wire<R>)) -> Self {
        Self { after: Some(after), ..self }
    }

    /// Afterwards the stream ends.
    pub(crate) fn eof(self) -> Self {
        Self { ends: true, ..self.then(|bench| bench.conn.handle_eof(bench.now)) }
    }

    /// Whether the input leaves the connection open.
    pub(crate) fn still_reads(&self) -> bool {
        !self.input_said.actions.iter().any(|action| action.starts_with("closed"))
    }

    /// The connection as it is before the input.
    pub(crate) fn begin(&self) -> Wire<R> {
        (self.start)(self.config)
    }

    /// Runs it with the input cut into these lengths, what is left over in one piece, and `more` behind it.
    pub(crate) fn run(&self, lengths: impl IntoIterator<Item = usize>, more: &str) -> (Said, Said) {
        let (mut bench, input) = self.run_input(lengths, more);
        if let Some(after) = self.after {
            after(&mut bench);
        }
        (input, Self::look(&mut bench, Said::default()))
    }

    /// Runs it with each line handed in as a message.
    pub(crate) fn run_messages(&self) -> (Said, Said) {
        let mut bench = self.begin();
        for line in self.input.split_inclusive(|byte| *byte == b'\n') {
            let line = line.strip_suffix(b"\n").unwrap_or(line);
            let message = Bytes::copy_from_slice(line.strip_suffix(b"\r").unwrap_or(line));
            bench.conn.handle_message(&message, bench.now);
        }
        let input = Self::look(&mut bench, Said::default());
        if let Some(after) = self.after {
            after(&mut bench);
        }
        (input, Self::look(&mut bench, Said::default()))
    }

    /// The same without what comes afterwards.
    pub(crate) fn run_input(&self, lengths: impl IntoIterator<Item = usize>, more: &str) -> (Wire<R>, Said) {
        let mut bench = self.begin();
        let mut said = Said::default();
        let stream = [&self.input, more.as_bytes()].concat();
        let mut rest = &stream[..];
        for length in lengths {
            let (chunk, left) = rest.split_at(length.min(rest.len()));
            bench.feed(chunk);
            // When the host takes its actions does not matter.
            said.actions.extend(bench.actions());
            rest = left;
        }
        bench.feed(rest);
        let input = Self::look(&mut bench, said);
        (bench, input)
    }

    fn look(bench: &mut Wire<R>, mut said: Said) -> Said {
        said.frames = bench.frames();
        said.actions.extend(bench.actions());
        said.due = bench.conn.poll_timeout().map(|deadline| format!("{:?} at {:?}", deadline.cause, deadline.at));
        said
    }
}

/// Nothing has happened yet.
pub(crate) fn fresh_agent(config: fn(&mut Config)) -> Wire<Agent> {
    acp_tests::taped::damaged();
    acp_tests::schema::may_emit("its host answers everything alike");
    let mut changed = Config::agent();
    config(&mut changed);
    Wire::fresh(changed)
}

/// Initialized, with session `s1`.
pub(crate) fn agent(config: fn(&mut Config)) -> Wire<Agent> {
    acp_tests::taped::damaged();
    acp_tests::schema::may_emit("its host answers everything alike");
    Wire::agent(config)
}

/// The same, and a request of its own, `_own` with id 1, is open.
pub(crate) fn asking_agent(config: fn(&mut Config)) -> Wire<Agent> {
    let mut bench = agent(config);
    bench.conn.request("_own", None, None, bench.now).expect("it may be sent");
    bench.quiet();
    bench
}

/// Nothing has happened yet.
pub(crate) fn fresh_client(config: fn(&mut Config)) -> Wire<Client> {
    acp_tests::taped::damaged();
    acp_tests::schema::may_emit("its host answers everything alike");
    let mut changed = Config::client();
    config(&mut changed);
    Wire::fresh(changed)
}

/// Initialized, with session `s1`.
pub(crate) fn client(config: fn(&mut Config)) -> Wire<Client> {
    acp_tests::taped::damaged();
    acp_tests::schema::may_emit("its host answers everything alike");
    Wire::client(config)
}

/// The same, and two requests of its own, `_own` with ids 3 and 4, are open.
pub(crate) fn asking_client(config: fn(&mut Config)) -> Wire<Client> {
    let mut bench = client(config);
    for _ in 0..2 {
        bench.conn.request("_own", Some(Payload::EMPTY), None, bench.now).expect("it may be sent");
    }
    bench.quiet();
    bench
}

/// The same with a prompt instead: request 3, turn 1.
pub(crate) fn prompting_client(config: fn(&mut Config)) -> Wire<Client> {
    let mut bench = client(config);
    let session = bench.key("s1");
    bench.conn.prompt(session, &raw("[]"), None, bench.now).expect("it may be sent");
    bench.quiet();
    bench
}
