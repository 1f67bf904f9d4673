//! A heap of fixed size: one static arena, no memory from anywhere else.
//!
//! Blocks have sizes of powers of two. One that is given back goes to the list of its size and is handed out again; blocks
//! are never split or joined. What is not in any list yet is cut off the arena from its beginning.

use core::{
    alloc::{GlobalAlloc, Layout},
    cell::UnsafeCell,
    hint, ptr,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

/// All there is.
const ARENA: usize = 256 * 1024;
/// The smallest block, which also is what every block is aligned to.
const SMALLEST: usize = 16;
/// Sizes from the smallest to the arena.
const SIZES: usize = (ARENA / SMALLEST).ilog2() as usize + 1;

#[global_allocator]
static HEAP: Heap = Heap {
    locked: AtomicBool::new(false),
    live: AtomicUsize::new(0),
    peak: AtomicUsize::new(0),
    blocks: UnsafeCell::new(Blocks { arena: [0; ARENA], used: 0, free: [ptr::null_mut(); SIZES] }),
};

/// Bytes in blocks that are handed out now, and the most of them there ever were.
pub fn usage() -> (usize, usize) {
    (HEAP.live.load(Ordering::Relaxed), HEAP.peak.load(Ordering::Relaxed))
}

struct Heap {
    locked: AtomicBool,
    live: AtomicUsize,
    peak: AtomicUsize,
    blocks: UnsafeCell<Blocks>,
}

#[repr(C, align(16))]
struct Blocks {
    arena: [u8; ARENA],
    used: usize,
    /// For each size, the first of the blocks given back; each holds the address of the next.
    free: [*mut u8; SIZES],
}

/// The size class of a layout. Nothing is aligned to more than the smallest block in here.
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size().max(SMALLEST).checked_next_power_of_two()?;
    (layout.align() <= SMALLEST && size <= ARENA).then(|| (size / SMALLEST).ilog2() as usize)
}

impl Heap {
    fn with<T>(&self, act: impl FnOnce(&mut Blocks) -> T) -> T {
        while self.locked.swap(true, Ordering::Acquire) {
            hint::spin_loop();
        }
        // SAFETY: whoever holds the lock is the only one in here, and `act` allocates nothing.
        let done = act(unsafe { &mut *self.blocks.get() });
        self.locked.store(false, Ordering::Release);
        done
    }
}

// SAFETY: the blocks are reached under the lock only.
unsafe impl Sync for Heap {}

// SAFETY: a block is in one place at a time: in the arena behind `used`, in one list, or with one owner. It is aligned to
// 16 bytes, and as large as its class, which is computed from the same layout both times.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let Some(class) = class(layout) else { return ptr::null_mut() };
        let size = SMALLEST << class;
        let block = self.with(|blocks| {
            let first = blocks.free[class];
            if !first.is_null() {
                // SAFETY: a block in a list is nobody's, and begins with the address of the next one.
                blocks.free[class] = unsafe { first.cast::<*mut u8>().read() };
                return first;
            }
            match blocks.arena.get_mut(blocks.used..blocks.used + size) {
                Some(block) => {
                    blocks.used += size;
                    block.as_mut_ptr()
                }
                None => ptr::null_mut(),
            }
        });
        if !block.is_null() {
            let live = self.live.fetch_add(size, Ordering::Relaxed) + size;
            self.peak.fetch_max(live, Ordering::Relaxed);
        }
        block
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        let Some(class) = class(layout) else { return };
        self.live.fetch_sub(SMALLEST << class, Ordering::Relaxed);
        self.with(|blocks| {
            // SAFETY: its owner gave it back, and every block has room for an address, aligned.
            unsafe { block.cast::<*mut u8>().write(blocks.free[class]) };
            blocks.free[class] = block;
        });
    }
}
