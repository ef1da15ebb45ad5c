//! A hook that stood where ours stands now: it gets the same arguments and input as ever.

use crate::domain::Failure;
use crate::domain::Result;
use crate::host::process::command;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::io::Read;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;

/// Shells that read another file as if it stood in theirs.
const SHELLS: &[&[u8]] = &[b"sh", b"bash", b"dash", b"ksh", b"zsh"];

/// Reads that file; `$0` stays the name that the hook had: some look by it for what belongs to them.
const AS_ITSELF: &str = "skein_hook=$1; shift; . \"$skein_hook\"";

/// All of standard input.
pub fn read_input() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    std::io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|e| Failure::fault("reading what git says", e))?;
    Ok(bytes)
}

/// Runs the hook in `file`, which git knows as `name`, with `args`, and gives its exit code. `input` is what was read
/// from standard input; where nothing was, the hook reads it itself. Git does not run a file that may not be
/// executed, and neither is it here.
pub fn run_chained(file: &Path, name: &Path, args: &[OsString], input: Option<&[u8]>) -> Result<i32> {
    let failed = |e| Failure::fault(format!("running {}", file.display()), e);
    match file.metadata() {
        Ok(meta) if meta.is_file() && meta.permissions().mode() & 0o111 != 0 => {}
        Ok(_) => return Ok(0),
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(failed(e)),
    }
    let mut words = words(file, name);
    words.extend(args.iter().cloned());
    let mut command = command(&words).map_err(failed)?;
    let Some(input) = input else { return Err(failed(command.exec())) };
    let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
    if let Some(mut pipe) = child.stdin.take() {
        // It need not read all of it, nor any.
        let _ = pipe.write_all(input);
    }
    let status = child.wait().map_err(failed)?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default()))
}

/// The command that runs it: a script of a shell as if it still stood under its name, anything else by itself.
fn words(file: &Path, name: &Path) -> Vec<OsString> {
    let mut head = Vec::new();
    let opened = std::fs::File::open(file);
    let read = opened.map(|file| file.take(256).read_to_end(&mut head));
    match interpreter(&head).filter(|_| matches!(read, Ok(Ok(_)))) {
        None => vec![file.as_os_str().to_owned()],
        Some(mut words) => {
            words.extend(["-c".into(), AS_ITSELF.into(), name.into(), file.into()]);
            words
        }
    }
}

/// The shell that the first line names, with its options; git takes a text without such a line for one of `sh`.
pub(super) fn interpreter(head: &[u8]) -> Option<Vec<OsString>> {
    let Some(line) = head.strip_prefix(b"#!") else {
        let text = !head.is_empty() && !head.contains(&0);
        return text.then(|| vec!["sh".into()]);
    };
    let line = line.split(|b| *b == b'\n').next().unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|b| b.is_ascii_whitespace()).filter(|word| !word.is_empty()).collect();
    let last = |path: &[u8]| path.rsplit(|b| *b == b'/').next().map(<[u8]>::to_vec).unwrap_or_default();
    let first = last(words.first()?);
    let shell = if first == b"env" { last(words.get(1)?) } else { first };
    let plain = SHELLS.contains(&shell.as_slice()) && words.len() <= 3;
    plain.then(|| words.iter().map(|word| OsStr::from_bytes(word).to_owned()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_shells_read_another_file_as_theirs() {
        for (head, want) in [
            ("#!/bin/sh\necho", Some("/bin/sh")),
            ("#!/bin/sh -e\n", Some("/bin/sh -e")),
            ("#! /usr/bin/env bash\n", Some("/usr/bin/env bash")),
            ("#!/usr/bin/env -S bash -e -u\n", None),
            ("#!/usr/bin/env python3\n", None),
            ("#!/usr/bin/perl\n", None),
            ("echo plain\n", Some("sh")),
            ("\u{7f}ELF\0", None),
            ("", None),
        ] {
            let found = interpreter(head.as_bytes());
            let found = found.map(|words| words.join(OsStr::new(" ")).to_string_lossy().into_owned());
            assert_eq!(found.as_deref(), want, "{head:?}");
        }
    }
}
