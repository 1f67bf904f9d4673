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

use acp_core::{Agent, Client, Config, Connection, Payload, Role, Timestamp};

/// The entry an embedder would call. It is exported, so what it reaches must be linked: both ends, driven whole.
///
/// Answers how many bytes both want to write.
#[unsafe(no_mangle)]
pub extern "C" fn acp_smoke(input: u8) -> usize {
    let Ok(mut agent) = Connection::<Agent>::new(Config::agent()) else { return 0 };
    let Ok(mut client) = Connection::<Client>::new(Config::client()) else { return 0 };
    let opened = client.initialize(&Payload::EMPTY, Timestamp::ZERO).is_ok();
    usize::from(opened) + drive(&mut agent, input) + drive(&mut client, input)
}

fn drive<R: Role>(conn: &mut Connection<R>, input: u8) -> usize {
    let now = Timestamp::from_millis(u64::from(input));
    let mut written = 0;
    conn.handle_input(&[input], now);
    conn.handle_eof(now);
    while !conn.is_closed() {
        let deadline = conn.poll_timeout().map_or(now, |deadline| deadline.at);
        conn.handle_timeout(deadline);
        while let Some(frame) = conn.poll_transmit() {
            written += frame.into_line().len();
        }
        while let Some(action) = conn.poll_action() {
            drop(action);
        }
    }
    written
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
