//! Proof that `acp-core` links where there is no std.
//!
//! This library brings its own panic handler. std brings one too, so the moment anything below drags std in, the build
//! stops with "found duplicate lang item `panic_impl`" (or, on a target without std, "can't find crate for `std`").
//! Nothing here is ever run: `check` builds it and looks no further.
//!
//! It is the only place of the repository with `unsafe`: a global allocator cannot be written without it.
#![no_std]

use core::alloc::{GlobalAlloc, Layout};
use core::panic::PanicInfo;
use core::ptr;
use core::sync::atomic::{AtomicUsize, Ordering};

// Names the crate even while nothing of it is called: what is not named is not linked, and would prove nothing.
pub use acp_core::{machine, wire};

/// The entry an embedder would call. It is exported, so what it reaches must be linked.
///
/// The place for `Connection`: build one for each role, hand it `input`, drain its three polls, and return the bytes it
/// wants to transmit, so that the whole core is reachable from here.
#[unsafe(no_mangle)]
pub extern "C" fn acp_smoke(input: u8) -> usize {
    usize::from(input)
}

const ARENA: usize = 64 * 1024;

/// Hands out an arena once and takes nothing back: the least that satisfies the linker.
struct Bump {
    used: AtomicUsize,
    arena: core::cell::UnsafeCell<[u8; ARENA]>,
}

// SAFETY: the arena is reached only through ranges that `used` handed to one caller each.
unsafe impl Sync for Bump {}

// SAFETY: `alloc` returns null or a range that is aligned, inside the arena, and handed out to nobody else.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let base = self.arena.get().cast::<u8>();
        let mut start = 0;
        let claimed = self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
            let address = (base as usize).checked_add(used)?;
            start = address.checked_next_multiple_of(layout.align())? - base as usize;
            start.checked_add(layout.size()).filter(|end| *end <= ARENA)
        });
        // SAFETY: `start` is at most ARENA here, so the pointer stays inside the arena or one past its end.
        if claimed.is_ok() { unsafe { base.add(start) } } else { ptr::null_mut() }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static HEAP: Bump = Bump { used: AtomicUsize::new(0), arena: core::cell::UnsafeCell::new([0; ARENA]) };

#[panic_handler]
fn panic(_: &PanicInfo<'_>) -> ! {
    loop {
        core::hint::spin_loop();
    }
}
