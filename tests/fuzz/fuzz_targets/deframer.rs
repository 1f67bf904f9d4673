//! See `acp_tests::fuzz::deframer`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::fuzz::deframer(data));
