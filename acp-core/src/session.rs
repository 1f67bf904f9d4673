//! The sessions of a connection: the agent's strings, interned to keys with generations.

mod name;

use alloc::{boxed::Box, collections::BTreeMap, sync::Arc, vec::Vec};

use self::name::{Name, Named, mix};
use crate::{
    machine::{Overlap, Turns},
    ticket::SessionKey,
    wire::Payload,
};

/// Where a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// It is being loaded or resumed.
    Opening,
    /// It works.
    Open,
    /// It is being closed, and takes no prompt.
    Closing,
}

/// One session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Session {
    /// The agent's id. The table of ids shares it.
    pub(crate) id: Arc<str>,
    pub(crate) stage: Stage,
    /// Client: the parameters it was opened with.
    pub(crate) options: Option<Payload>,
    pub(crate) turns: Turns,
    /// For one that another session brought.
    pub(crate) child: Option<Box<Child>>,
}

/// A session that another one brought: it was announced by a `subagent_update`, and its agent drives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Child {
    pub(crate) parent: SessionKey,
    /// Whether `session/cancel` may be sent for it.
    pub(crate) cancel: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Slot {
    generation: u32,
    session: Option<Session>,
}

/// All sessions of a connection. Finding one by key takes no search, by id a walk down a tree.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sessions {
    limit: usize,
    overlap: Overlap,
    slots: Vec<Slot>,
    free: Vec<u32>,
    ids: BTreeMap<Name, SessionKey>,
    removed: u64,
}

impl Sessions {
    pub(crate) const fn new(limit: usize, overlap: Overlap) -> Self {
        Self { limit, overlap, slots: Vec::new(), free: Vec::new(), ids: BTreeMap::new(), removed: 0 }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.ids.len() >= self.limit
    }

    pub(crate) fn find(&self, id: &str) -> Option<SessionKey> {
        self.ids.get(&(mix(id), id) as &dyn Named).copied()
    }

    pub(crate) fn get(&self, key: SessionKey) -> Option<&Session> {
        let slot = self.slots.get(key.slot as usize)?;
        if slot.generation == key.generation { slot.session.as_ref() } else { None }
    }

    pub(crate) fn get_mut(&mut self, key: SessionKey) -> Option<&mut Session> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation == key.generation { slot.session.as_mut() } else { None }
    }

    /// The key that the next new session gets.
    pub(crate) fn next_key(&self) -> SessionKey {
        let slot = self.free.last().copied().unwrap_or_else(|| u32::try_from(self.slots.len()).unwrap_or(u32::MAX));
        let generation = self.slots.get(slot as usize).map_or(0, |slot| slot.generation);
        SessionKey { slot, generation }
    }

    /// The key for this id, made if need be. `None`: the limit is reached.
    pub(crate) fn intern(&mut self, id: &str, stage: Stage) -> Option<SessionKey> {
        if let Some(key) = self.find(id) {
            return Some(key);
        }
        if self.is_full() {
            return None;
        }
        let id: Arc<str> = id.into();
        let session = Session { id: id.clone(), stage, options: None, turns: Turns::new(self.overlap), child: None };
        let slot = match self.free.pop() {
            Some(slot) => slot,
            None => {
                self.slots.push(Slot::default());
                u32::try_from(self.slots.len() - 1).ok()?
            }
        };
        let place = self.slots.get_mut(slot as usize)?;
        place.session = Some(session);
        let key = SessionKey { slot, generation: place.generation };
        self.ids.insert(Name { mixed: mix(&id), id }, key);
        Some(key)
    }

    pub(crate) fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let session = slot.session.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.removed = self.removed.wrapping_add(1);
        self.ids.remove(&(mix(&session.id), &*session.id) as &dyn Named);
        self.free.push(key.slot);
        Some(session)
    }

    /// How many there were that are gone. It is the sum of the generations, kept so that nobody has to add them up.
    pub(crate) const fn removed(&self) -> u64 {
        self.removed
    }

    /// The session of this id, as a child of another: made known if need be. `cancel`: whether it may be cancelled, if
    /// that is said. `None`: the limit is reached.
    pub(crate) fn adopt(&mut self, id: &str, parent: SessionKey, cancel: Option<bool>) -> Option<SessionKey> {
        let known = self.find(id);
        let key = self.intern(id, Stage::Open)?;
        let session = self.get_mut(key)?;
        match &mut session.child {
            Some(child) => child.cancel = cancel.unwrap_or(child.cancel),
            // One that was opened for itself stays what it is.
            None if known.is_none() => {
                session.child = Some(Box::new(Child { parent, cancel: cancel.unwrap_or(false) }));
            }
            None => {}
        }
        Some(key)
    }

    /// The children of a session.
    pub(crate) fn children(&self, parent: SessionKey) -> Vec<SessionKey> {
        let of = |key: &SessionKey| {
            self.get(*key).and_then(|session| session.child.as_ref()).is_some_and(|child| child.parent == parent)
        };
        self.keys().into_iter().filter(of).collect()
    }

    /// Every key, in the order of the ids.
    pub(crate) fn keys(&self) -> Vec<SessionKey> {
        let mut named: Vec<_> = self.ids.iter().collect();
        named.sort_unstable_by(|(one, _), (other, _)| one.id.cmp(&other.id));
        named.into_iter().map(|(_, key)| *key).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Overlap, Sessions, Stage};

    #[test]
    fn the_key_of_a_closed_session_names_nothing_when_its_place_is_used_again() {
        let mut sessions = Sessions::new(1, Overlap::Refuse);
        let next = sessions.next_key();
        let first = sessions.intern("a", Stage::Open).expect("there is room");
        assert_eq!(first, next);
        assert_eq!(sessions.intern("a", Stage::Open), Some(first), "an id has one key");
        assert_eq!(sessions.intern("b", Stage::Open), None, "the limit holds");
        assert!(sessions.remove(first).is_some());
        assert_eq!(sessions.len(), 0);
        let next = sessions.next_key();
        let second = sessions.intern("b", Stage::Open).expect("the place is free again");
        assert_eq!((second.slot, second), (first.slot, next));
        assert!(sessions.get(first).is_none() && sessions.get(second).is_some());
        assert!(sessions.remove(first).is_none());
        assert_eq!(sessions.len(), 1);
    }
}
