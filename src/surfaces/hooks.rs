//! What git starts: `git-skein hook <name> <file> <git's arguments>`. Ours is asked first, then the hook that was in
//! its place. Whatever of our own fails, git goes on; only a server that cannot judge does not accept.

use crate::domain::Failure;
use crate::domain::Hook;
use crate::host::Env;
use crate::surfaces::present::Page;
use crate::surfaces::style::safe;
use crate::verbs::hooks;
use crate::verbs::hooks::Input;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// What stands before each line for the person.
const US: &str = "git-skein";

/// `words` are those after `hook`.
pub fn run(env: &Env, words: &[OsString]) -> ExitCode {
    let tell = |line: &str| anstream::eprintln!("{US}: {}", safe(line).replace('\n', "\n  "));
    let Some((name, rest)) = words.split_first() else { return ExitCode::SUCCESS };
    let Some((file, args)) = rest.split_first() else { return ExitCode::SUCCESS };
    let mut input = Input::default();
    match name.to_str().and_then(Hook::parse) {
        None => tell(&format!("there is no hook {}", name.to_string_lossy())),
        Some(hook) => match hooks::answer(env, hook, args, &mut input, &tell) {
            Ok(()) => {}
            Err(failure) if hook.guards() && refuses(hook, &failure) => {
                Page::failure(hook.as_str(), &failure, false).print();
                return ExitCode::FAILURE;
            }
            Err(failure) => tell(&format!("{} was not looked at: {failure}", hook.as_str())),
        },
    }
    match hooks::chain(Path::new(file), args, input) {
        Ok(code) => ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)),
        Err(failure) => {
            tell(&format!("the hook that was here before does not start: {failure}"));
            ExitCode::FAILURE
        }
    }
}

fn refuses(hook: Hook, failure: &Failure) -> bool {
    hook == Hook::PreReceive || hooks::is_meant(failure)
}
