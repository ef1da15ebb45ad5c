//! The `git-skein` binary.

fn main() -> std::process::ExitCode {
    git_skein::main()
}
