//! Writes a trace: both directions with their times, line by line as they come, so that a crash loses none of it.

use std::{
    fs::File,
    io::{self, BufWriter, Write as _},
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use acp_core::{
    Side,
    wire::{Deframer, Framed},
};
use serde_json::{json, value::RawValue};

use super::{log::name, redact};
use crate::shape::LINE;

/// Writes one trace. Clones write the same.
#[derive(Clone, Debug)]
pub struct Recorder(Arc<Mutex<Inner>>);

#[derive(Debug)]
struct Inner {
    /// `None`: nothing is to be written yet.
    file: Option<BufWriter<File>>,
    started: Instant,
    /// Whether the texts of the payloads are written.
    text: bool,
    client: Way,
    agent: Way,
    /// The file took no more: said once.
    failed: bool,
}

#[derive(Debug)]
struct Way {
    lines: Deframer,
    ended: bool,
}

impl Recorder {
    /// A new trace at `path`, written at this end of the connection by `program`.
    ///
    /// # Errors
    ///
    /// The file cannot be made or written.
    pub fn create(path: &Path, side: Side, program: &str, text: bool) -> io::Result<Self> {
        let recorder = Self::idle();
        recorder.start(path, side, program, text)?;
        Ok(recorder)
    }

    /// One that writes nothing until it is [started](Self::start).
    #[must_use]
    pub fn idle() -> Self {
        let way = || Way { lines: Deframer::new(LINE), ended: false };
        let (client, agent) = (way(), way());
        let inner = Inner { file: None, started: Instant::now(), text: true, client, agent, failed: false };
        Self(Arc::new(Mutex::new(inner)))
    }

    /// Writes what passes from now on to a new trace at `path`, and no longer to the one before.
    ///
    /// # Errors
    ///
    /// The file cannot be made or written.
    pub fn start(&self, path: &Path, side: Side, program: &str, text: bool) -> io::Result<()> {
        let file = BufWriter::new(File::create(path)?);
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        (inner.file, inner.started, inner.text) = (Some(file), Instant::now(), text);
        let unix = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
        let unix = u64::try_from(unix).unwrap_or(u64::MAX);
        let header = json!({ "trace": "acp", "version": 1, "side": name(side), "program": program, "started": unix, "text": text });
        inner.line(&header.to_string())
    }

    /// Hears bytes of one direction.
    pub fn feed(&self, from: Side, mut bytes: &[u8]) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(framed) = inner.way(from).lines.next(&mut bytes) {
            inner.framed(from, &framed);
        }
    }

    /// Hears the end of one direction, and why. Only the first is written.
    pub fn end(&self, from: Side, why: &str) {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if core::mem::replace(&mut inner.way(from).ended, true) {
            return;
        }
        if let Some(framed) = inner.way(from).lines.finish() {
            inner.framed(from, &framed);
        }
        inner.write(from, &format!("\"end\":{}", json!(why)));
    }
}

impl Inner {
    const fn way(&mut self, from: Side) -> &mut Way {
        match from {
            Side::Client => &mut self.client,
            Side::Agent => &mut self.agent,
        }
    }

    fn framed(&mut self, from: Side, framed: &Framed) {
        if self.file.is_none() {
            return;
        }
        let members = match framed {
            Framed::Line(line) => match serde_json::from_slice::<&RawValue>(line) {
                Ok(_) if !self.text => format!("\"bytes\":{},\"message\":{}", line.len(), redact::without_text(line)),
                Ok(message) => format!("\"message\":{}", message.get()),
                Err(_) if line.trim_ascii().is_empty() => return,
                Err(_) if !self.text => format!("\"line\":{}", json!(redact::removed(line.len()))),
                Err(_) => format!("\"line\":{}", json!(String::from_utf8_lossy(line))),
            },
            Framed::TooLong(long) => {
                let method = long.method.as_ref().map(|method| method.as_str());
                format!("\"long\":{}", json!({ "bytes": long.size, "method": method }))
            }
        };
        self.write(from, &members);
    }

    fn write(&mut self, from: Side, members: &str) {
        let at = self.started.elapsed().as_secs_f64() * 1000.0;
        if let Err(why) = self.line(&format!("{{\"at\":{at:.3},\"from\":\"{}\",{members}}}", name(from)))
            && !core::mem::replace(&mut self.failed, true)
        {
            eprintln!("the trace is incomplete: {why}");
        }
    }

    fn line(&mut self, line: &str) -> io::Result<()> {
        let Some(file) = &mut self.file else { return Ok(()) };
        file.write_all(line.as_bytes())?;
        file.write_all(b"\n")?;
        file.flush()
    }
}
