//! Runs the conversation of the library on the host, where a program without std still needs somebody who calls `main`:
//! libc. Exit code 0: both turns ended as they should, and the heap is empty again.
#![no_std]
#![no_main]

use core::ffi::{c_char, c_int};

#[link(name = "c")]
unsafe extern "C" {
    fn printf(format: *const c_char, ...) -> c_int;
}

#[unsafe(no_mangle)]
extern "C" fn main() -> c_int {
    let seen = no_std_smoke::acp_smoke();
    let (left, peak) = no_std_smoke::heap::usage();
    let text = c"no_std run: saw %u of 7; %zu bytes on the heap at the most, %zu at the end\n";
    // SAFETY: the arguments are what the format says.
    unsafe { printf(text.as_ptr(), seen, peak, left) };
    c_int::from(seen != 7)
}

/// The `alloc` that comes with the toolchain is built to unwind, and names this. Nothing unwinds here: panics abort.
#[unsafe(no_mangle)]
extern "C" fn rust_eh_personality() {}

/// As above.
#[unsafe(no_mangle)]
extern "C" fn _Unwind_Resume() {}
