//! See `acp_tests::fuzz::client`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::fuzz::client(data));
