#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| git_skein::fuzz::run("hook_surroundings", bytes));
