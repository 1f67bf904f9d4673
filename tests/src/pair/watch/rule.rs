//! The rules of the pair, in words.

macro_rules! rules {
    ($($(#[$doc:meta])* $name:ident = $words:literal;)*) => {
        $($(#[$doc])* pub const $name: &str = $words;)*
        /// All of them.
        pub const ALL: [&str; [$($words),*].len()] = [$($name),*];
    };
}

rules! {
    /// No end takes what the other sends for a fault.
    CONFORMING = "a conforming pair never produces a violation";
    /// In both directions.
    ONE_ANSWER = "every request gets at most one answer";
    /// "The Agent MUST send all updates before it responds."
    UPDATES_FIRST = "no update of a turn is on the wire after its answer";
    /// Whatever its host says: an answer, never an error.
    CANCELLED = "a cancel received before the end of its turn makes the answer `cancelled`";
    /// The reverse.
    NEVER_UNASKED = "never `cancelled` without a cancel";
    /// None is told, and those told before are revoked.
    NO_DIALOG = "while a turn is being cancelled no permission is open at the client's host";
    /// Neither forgotten nor answered in another way than its host decided.
    DECIDED = "a permission is decided exactly once on the wire, as its host decided";
    /// The next turn ends as its own host says.
    ITS_OWN_TURN = "a cancel of one turn never touches a later prompt";
    /// And as the wire said.
    TOLD_ONCE = "the end of every turn is told once, as it was";
    /// The same for the agent's requests.
    RESOLVED_ONCE = "every request of the agent's is resolved once";
    /// Late cancels, late decisions and late ends.
    TOO_LATE = "what comes too late sends nothing and changes nothing";
    /// The open tool call of a turn that was cancelled or failed is closed.
    LAST_WORD = "an open tool call has its last word before the answer";
    /// A request resolves, a cancel may be asked again.
    NOT_FATAL = "a request or a cancel that cannot be delivered does not end the connection";
    /// Unless its turn is over.
    TOLD_UNSENT = "a cancel that cannot be delivered is told, once, and only then";
    /// Tables, queues and timers.
    NOTHING_LEFT = "when all is over nothing is left behind";
    /// As soon as nothing is owed, and within two deadlines.
    BOUNDED = "an end that has begun comes";
    /// Unless the stream is lost, or nobody reads it.
    PAID = "what was accepted before the end is answered";
    /// `Closed` is the last action.
    CLOSED_LAST = "Closed is told once, and last";
    /// Version 2: never before, and never without.
    INSERTED = "work and the user's message are told of prompts that were inserted, and end with idle";
    /// No command fails that the state allows.
    ALLOWED = "what the state allows is not refused";
}
