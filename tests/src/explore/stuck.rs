//! Whether everything comes to rest. A state may be left again and again, and still never lead anywhere: so this is asked
//! of the whole graph, backwards.

/// The first state from which no settled one can be reached, walking backwards from those that are.
pub(super) fn first_stuck(settled: &[bool], mut edges: Vec<(u32, u32)>) -> Option<usize> {
    edges.sort_unstable();
    let mut reaches = settled.to_vec();
    let mut waiting: Vec<usize> = (0..settled.len()).filter(|at| settled[*at]).collect();
    while let Some(at) = waiting.pop() {
        let first = edges.partition_point(|(to, _)| (*to as usize) < at);
        for (_, from) in edges[first..].iter().take_while(|(to, _)| *to as usize == at) {
            if !core::mem::replace(&mut reaches[*from as usize], true) {
                waiting.push(*from as usize);
            }
        }
    }
    reaches.into_iter().position(|reaches| !reaches)
}
