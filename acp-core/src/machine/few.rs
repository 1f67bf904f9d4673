//! A map that mostly holds few entries: a sorted list, which keeps its memory, and a tree as long as they are many.

use alloc::{collections::BTreeMap, vec::Vec};
use core::hash::{Hash, Hasher};

/// More than this are many.
const FEW: usize = 8;

/// A map in the order of its keys. What it holds decides what it equals, and not how.
#[derive(Clone, Debug)]
pub(crate) enum Few<K, V> {
    List(Vec<(K, V)>),
    Tree(BTreeMap<K, V>),
}

impl<K, V> Few<K, V> {
    pub(crate) const fn new() -> Self {
        Self::List(Vec::new())
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::List(list) => list.len(),
            Self::Tree(tree) => tree.len(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&K, &V)> {
        let (list, tree) = match self {
            Self::List(list) => (Some(list), None),
            Self::Tree(tree) => (None, Some(tree)),
        };
        let list = list.into_iter().flatten().map(|(key, value)| (key, value));
        list.chain(tree.into_iter().flatten())
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (&K, &mut V)> {
        let (list, tree) = match self {
            Self::List(list) => (Some(list), None),
            Self::Tree(tree) => (None, Some(tree)),
        };
        let list = list.into_iter().flatten().map(|(key, value)| (&*key, value));
        list.chain(tree.into_iter().flatten())
    }

    pub(crate) fn into_entries(self) -> impl Iterator<Item = (K, V)> {
        let (list, tree) = match self {
            Self::List(list) => (Some(list), None),
            Self::Tree(tree) => (None, Some(tree)),
        };
        list.into_iter().flatten().chain(tree.into_iter().flatten())
    }

    pub(crate) fn keys(&self) -> impl Iterator<Item = &K> {
        self.iter().map(|(key, _)| key)
    }
}

impl<K: Ord, V> Few<K, V> {
    pub(crate) fn get(&self, key: &K) -> Option<&V> {
        match self {
            Self::List(list) => list.get(place(list, key).ok()?).map(|(_, value)| value),
            Self::Tree(tree) => tree.get(key),
        }
    }

    pub(crate) fn get_mut(&mut self, key: &K) -> Option<&mut V> {
        match self {
            Self::List(list) => {
                let place = place(list, key).ok()?;
                list.get_mut(place).map(|(_, value)| value)
            }
            Self::Tree(tree) => tree.get_mut(key),
        }
    }

    pub(crate) fn contains_key(&self, key: &K) -> bool {
        self.get(key).is_some()
    }

    pub(crate) fn insert(&mut self, key: K, value: V) {
        match self {
            Self::List(list) => match place(list, &key) {
                Ok(place) => {
                    if let Some((_, old)) = list.get_mut(place) {
                        *old = value;
                    }
                }
                Err(place) if list.len() < FEW => list.insert(place, (key, value)),
                Err(_) => {
                    let mut tree: BTreeMap<K, V> = core::mem::take(list).into_iter().collect();
                    tree.insert(key, value);
                    *self = Self::Tree(tree);
                }
            },
            Self::Tree(tree) => {
                tree.insert(key, value);
            }
        }
    }

    pub(crate) fn remove(&mut self, key: &K) -> Option<V> {
        match self {
            Self::List(list) => {
                let place = place(list, key).ok()?;
                Some(list.remove(place).1)
            }
            Self::Tree(tree) => {
                let removed = tree.remove(key);
                if tree.is_empty() {
                    *self = Self::new();
                }
                removed
            }
        }
    }
}

/// Where the key is, or belongs.
fn place<K: Ord, V>(list: &[(K, V)], key: &K) -> Result<usize, usize> {
    list.binary_search_by(|(other, _)| other.cmp(key))
}

impl<K, V> Default for Few<K, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl<K: PartialEq, V: PartialEq> PartialEq for Few<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl<K: Eq, V: Eq> Eq for Few<K, V> {}

impl<K: Hash, V: Hash> Hash for Few<K, V> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.len().hash(state);
        self.iter().for_each(|entry| entry.hash(state));
    }
}

#[cfg(test)]
mod tests {
    use alloc::{collections::BTreeMap, vec::Vec};
    use core::hash::{BuildHasher, BuildHasherDefault, Hasher};

    use proptest::prelude::*;

    use super::{FEW, Few};

    #[derive(Default)]
    struct Sum(u64);

    impl Hasher for Sum {
        fn finish(&self) -> u64 {
            self.0
        }

        fn write(&mut self, bytes: &[u8]) {
            self.0 = bytes.iter().fold(self.0, |sum, byte| sum.wrapping_mul(31).wrapping_add(u64::from(*byte) + 1));
        }
    }

    proptest! {
        #[test]
        fn it_is_the_map_that_a_tree_is(steps in prop::collection::vec((any::<bool>(), 0..3 * FEW as u8, any::<u8>()), 0..100)) {
            let (mut few, mut tree) = (Few::new(), BTreeMap::new());
            for (insert, key, value) in steps {
                if insert {
                    few.insert(key, value);
                    tree.insert(key, value);
                } else {
                    prop_assert_eq!(few.remove(&key), tree.remove(&key));
                }
                prop_assert_eq!(few.iter().collect::<Vec<_>>(), tree.iter().collect::<Vec<_>>());
                prop_assert_eq!((few.len(), few.is_empty(), few.contains_key(&key)), (tree.len(), tree.is_empty(), tree.contains_key(&key)));
                prop_assert_eq!(few.get_mut(&key), tree.get_mut(&key));
                few.iter_mut().for_each(|(_, value)| *value ^= 1);
                tree.values_mut().for_each(|value| *value ^= 1);
                let mut afresh = Few::new();
                tree.iter().for_each(|(key, value)| afresh.insert(*key, *value));
                prop_assert_eq!(&few, &afresh);
                let hasher = BuildHasherDefault::<Sum>::default();
                prop_assert_eq!(hasher.hash_one(&few), hasher.hash_one(&afresh));
            }
        }
    }
}
