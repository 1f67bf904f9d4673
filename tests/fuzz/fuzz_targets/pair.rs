//! See `acp_tests::fuzz::pair`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::fuzz::pair(data));
