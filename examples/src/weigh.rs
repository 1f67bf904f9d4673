//! What a stage of a program costs: bytes on the heap, counted at the allocator; resident memory, as the system sees it;
//! and time.

use core::{mem, time::Duration};
use std::{fs, time::Instant};

use peak_alloc::PeakAlloc;

/// What the scales showed. They count only in a program that has [`PeakAlloc`] as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Scales {
    heap: usize,
    resident: usize,
    at: Instant,
}

impl Scales {
    /// Begins a stage.
    #[must_use]
    pub fn read() -> Self {
        Self { heap: PeakAlloc.current_usage(), resident: resident(), at: Instant::now() }
    }

    /// Ends a stage, of which `count` had an equal part, and begins the next: one line about it.
    pub fn weigh(&mut self, stage: &str, count: usize) -> String {
        let before = mem::replace(self, Self::read());
        let heap = each(before.heap, self.heap, count);
        let resident = each(before.resident, self.resident, count);
        let took = self.at.duration_since(before.at);
        let speed = Duration::from_secs_f64(took.as_secs_f64() / count.max(1) as f64);
        format!(
            "{stage:>26}: {heap:>8.0} B on the heap, {resident:>8.0} B resident, {speed:>8.1?} ({took:.1?} for all)"
        )
    }

    /// Bytes that are on the heap now, and were not then.
    #[must_use]
    pub fn more(&self) -> usize {
        PeakAlloc.current_usage().saturating_sub(self.heap)
    }
}

fn each(before: usize, after: usize, count: usize) -> f64 {
    (after as f64 - before as f64) / count.max(1) as f64
}

/// Resident bytes of this process (Linux: `/proc/self/statm`, the second field, in pages of 4 KiB).
fn resident() -> usize {
    let statm = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4096
}
