//! See `acp_tests::fuzz::envelope`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::fuzz::envelope(data));
