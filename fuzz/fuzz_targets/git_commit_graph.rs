#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| git_skein::fuzz::run("git_commit_graph", bytes));
