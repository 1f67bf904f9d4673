//! The sessions of a connection: the agent's strings, interned to keys with generations.

mod name;

use alloc::{
    boxed::Box,
    collections::{BTreeMap, btree_map::Entry},
    sync::Arc,
    vec::Vec,
};

use self::name::mix;
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
    /// The agent's id.
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
    /// The place of the session whose id has this number.
    numbers: BTreeMap<u64, u32>,
    /// The sessions whose number was taken when they came. Nobody makes such ids by chance, and whoever makes them on
    /// purpose gets a walk over texts, and nothing worse.
    twins: BTreeMap<Arc<str>, u32>,
    removed: u64,
}

impl Sessions {
    pub(crate) const fn new(limit: usize, overlap: Overlap) -> Self {
        Self {
            limit,
            overlap,
            slots: Vec::new(),
            free: Vec::new(),
            numbers: BTreeMap::new(),
            twins: BTreeMap::new(),
            removed: 0,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.numbers.len() + self.twins.len()
    }

    pub(crate) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    pub(crate) fn find(&self, id: &str) -> Option<SessionKey> {
        self.find_numbered(mix(id), id)
    }

    fn find_numbered(&self, number: u64, id: &str) -> Option<SessionKey> {
        let key = |slot: &u32| {
            let place = self.slots.get(*slot as usize)?;
            let named = place.session.as_ref().is_some_and(|session| *session.id == *id);
            named.then_some(SessionKey { slot: *slot, generation: place.generation })
        };
        self.numbers.get(&number).and_then(key).or_else(|| self.twins.get(id).and_then(key))
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
        self.intern_numbered(mix(id), id, stage)
    }

    fn intern_numbered(&mut self, number: u64, id: &str, stage: Stage) -> Option<SessionKey> {
        if let Some(key) = self.find_numbered(number, id) {
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
        match self.numbers.entry(number) {
            Entry::Vacant(free) => {
                free.insert(slot);
            }
            Entry::Occupied(_) => {
                self.twins.insert(id, slot);
            }
        }
        Some(key)
    }

    pub(crate) fn remove(&mut self, key: SessionKey) -> Option<Session> {
        let number = mix(&self.get(key)?.id);
        self.remove_numbered(number, key)
    }

    fn remove_numbered(&mut self, number: u64, key: SessionKey) -> Option<Session> {
        let slot = self.slots.get_mut(key.slot as usize)?;
        if slot.generation != key.generation {
            return None;
        }
        let session = slot.session.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.removed = self.removed.wrapping_add(1);
        match self.numbers.entry(number) {
            Entry::Occupied(taken) if *taken.get() == key.slot => {
                taken.remove();
            }
            _ => {
                self.twins.remove(&session.id);
            }
        }
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
        let mut named: Vec<_> = (0..)
            .zip(&self.slots)
            .filter_map(|(slot, place)| {
                let session = place.session.as_ref()?;
                Some((&*session.id, SessionKey { slot, generation: place.generation }))
            })
            .collect();
        named.sort_unstable_by_key(|(id, _)| *id);
        named.into_iter().map(|(_, key)| key).collect()
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

    #[test]
    fn ids_with_the_same_number_are_told_apart() {
        let mut sessions = Sessions::new(3, Overlap::Refuse);
        let [a, b, c] = ["a", "b", "c"].map(|id| sessions.intern_numbered(7, id, Stage::Open).expect("there is room"));
        let find = |sessions: &Sessions| ["a", "b", "c", "d"].map(|id| sessions.find_numbered(7, id));
        assert_eq!(find(&sessions), [Some(a), Some(b), Some(c), None]);
        assert_eq!((sessions.len(), sessions.is_full()), (3, true));

        assert!(sessions.remove_numbered(7, b).is_some());
        assert_eq!(find(&sessions), [Some(a), None, Some(c), None]);
        assert!(sessions.remove_numbered(7, a).is_some());
        assert_eq!(find(&sessions), [None, None, Some(c), None]);
        let d = sessions.intern_numbered(7, "d", Stage::Open).expect("there is room");
        assert_eq!(sessions.intern_numbered(7, "c", Stage::Open), Some(c), "an id has one key");
        assert_eq!((find(&sessions), sessions.keys()), ([None, None, Some(c), Some(d)], [c, d].into()));
        assert!(sessions.remove_numbered(7, c).is_some() && sessions.remove_numbered(7, d).is_some());
        assert_eq!((find(&sessions), sessions.len()), ([None; 4], 0));
    }
}
