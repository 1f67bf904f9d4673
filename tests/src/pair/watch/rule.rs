//! The rules of the pair, in words.

/// No end takes what the other sends for a fault.
pub const CONFORMING: &str = "a conforming pair never produces a violation";
/// In both directions.
pub const ONE_ANSWER: &str = "every request gets at most one answer";
/// "The Agent MUST send all updates before it responds."
pub const UPDATES_FIRST: &str = "no update of a turn is on the wire after its answer";
/// Whatever its host says: an answer, never an error.
pub const CANCELLED: &str = "a cancel received before the end of its turn makes the answer `cancelled`";
/// The reverse.
pub const NEVER_UNASKED: &str = "never `cancelled` without a cancel";
/// None is told, and those told before are revoked.
pub const NO_DIALOG: &str = "while a turn is being cancelled no permission is open at the client's host";
/// Neither forgotten nor answered in another way than its host decided.
pub const DECIDED: &str = "a permission is decided exactly once on the wire, as its host decided";
/// The next turn ends as its own host says.
pub const ITS_OWN_TURN: &str = "a cancel of one turn never touches a later prompt";
/// And as the wire said.
pub const TOLD_ONCE: &str = "the end of every turn is told once, as it was";
/// The same for the agent's requests.
pub const RESOLVED_ONCE: &str = "every request of the agent's is resolved once";
/// Late cancels, late decisions and late ends.
pub const TOO_LATE: &str = "what comes too late sends nothing and changes nothing";
/// The open tool call of a turn that was cancelled or failed is closed.
pub const LAST_WORD: &str = "an open tool call has its last word before the answer";
/// A request resolves, a cancel may be asked again.
pub const NOT_FATAL: &str = "a request or a cancel that cannot be delivered does not end the connection";
/// Unless its turn is over.
pub const TOLD_UNSENT: &str = "a cancel that cannot be delivered is told, once, and only then";
/// Tables, queues and timers.
pub const NOTHING_LEFT: &str = "when all is over nothing is left behind";
/// As soon as nothing is owed, and within two deadlines.
pub const BOUNDED: &str = "an end that has begun comes";
/// Unless the stream is lost, or nobody reads it.
pub const PAID: &str = "what was accepted before the end is answered";
/// `Closed` is the last action.
pub const CLOSED_LAST: &str = "Closed is told once, and last";
/// Version 2: never before, and never without.
pub const INSERTED: &str = "work and the user's message are told of prompts that were inserted, and end with idle";
/// No command fails that the state allows.
pub const ALLOWED: &str = "what the state allows is not refused";
