//! See `acp_tests::fuzz::agent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| acp_fuzz::fuzz::agent(data));
