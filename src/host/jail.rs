//! The jail: bubblewrap around a command. It sees the machine read-only, with some folders empty, and writes
//! only where it is told that it may. Its processes end with it.

use crate::host::Env;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;
use std::process::Stdio;

/// One thing that a command sees otherwise than it is.
#[derive(Debug, Clone)]
pub enum Mount {
    /// A folder that is there, but empty, and forgotten at the end.
    Empty(PathBuf),
    /// A folder or file that is not to be seen; who writes there is told that it cannot.
    Hidden(PathBuf),
    /// Something that it can only read, and where it sees it.
    Read(PathBuf, PathBuf),
    /// A folder that it writes, and where it sees it.
    Write(PathBuf, PathBuf),
}

impl Mount {
    /// What can be read where it is.
    pub fn shown(path: impl Into<PathBuf>) -> Mount {
        let path = path.into();
        Mount::Read(path.clone(), path)
    }

    fn put(&self, out: &mut Vec<OsString>) {
        let mut put = |words: &[&OsStr]| out.extend(words.iter().map(|w| (*w).to_owned()));
        match self {
            Mount::Empty(folder) => put(&["--tmpfs".as_ref(), folder.as_ref()]),
            Mount::Hidden(path) if path.is_dir() => put(&["--tmpfs".as_ref(), path.as_ref()]),
            Mount::Hidden(path) => put(&["--ro-bind".as_ref(), "/dev/null".as_ref(), path.as_ref()]),
            Mount::Read(from, at) => put(&["--ro-bind".as_ref(), from.as_ref(), at.as_ref()]),
            Mount::Write(from, at) => put(&["--bind".as_ref(), from.as_ref(), at.as_ref()]),
        }
    }
}

/// Sockets that would lead out, and what says where they are.
const DROPPED: &[&str] = &[
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "GPG_AGENT_INFO",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "TMUX",
    "TMUX_PANE",
    "DISPLAY",
    "WAYLAND_DISPLAY",
];

/// `argv` in a jail, in folder `cwd`; each mount stands on those before it. If it is `closed`, see [`probe`], no
/// other user namespace can be made in it: in one of its own a process has every right, and so more of the kernel to
/// try its tricks on. Both it and the jail are asked to end at the same time; the jail does not listen, so that what
/// is in it may take its time.
pub fn jailed(
    mounts: &[Mount],
    closed: bool,
    cwd: &Path,
    argv: impl IntoIterator<Item = OsString>,
) -> Vec<OsString> {
    let mut out: Vec<OsString> = ["env", "--ignore-signal=TERM,INT,HUP", "bwrap"].map(Into::into).into();
    out.extend(WALLS.iter().map(Into::into));
    out.extend(closed.then(|| CLOSE.into()));
    mounts.iter().for_each(|mount| mount.put(&mut out));
    let mut put = |words: &[&OsStr]| out.extend(words.iter().map(|w| (*w).to_owned()));
    for mount in mounts {
        // Last, when what stands in it is there.
        if let Mount::Hidden(path) = mount
            && path.is_dir()
        {
            put(&["--remount-ro".as_ref(), path.as_ref()]);
        }
    }
    for name in DROPPED {
        put(&["--unsetenv".as_ref(), name.as_ref()]);
    }
    put(&["--chdir".as_ref(), cwd.as_ref()]);
    put(&["--", "env", "--default-signal=TERM,INT,HUP", "--"].map(AsRef::as_ref));
    out.extend(argv);
    out
}

/// Everything is shut but the network, which agents need.
const WALLS: &[&str] = &[
    "--unshare-user",
    "--unshare-ipc",
    "--unshare-pid",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--cap-drop",
    "ALL",
    "--die-with-parent",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
];

/// Old bubblewraps do not know it, and not every kernel lets it.
const CLOSE: &str = "--disable-userns";

/// Whether a jail that is made here can be closed; else why none can be made. It makes one or two for nothing.
pub fn probe(env: &Env) -> Result<bool, String> {
    attempt(env, true).map(|()| true).or_else(|_| attempt(env, false).map(|()| false))
}

/// Makes a jail for nothing; else says why not.
fn attempt(env: &Env, closed: bool) -> Result<(), String> {
    let argv = jailed(&[], closed, Path::new("/"), ["true".into()]);
    let mut command = crate::host::process::command(&argv).map_err(|e| e.to_string())?;
    let path = env.get("PATH").unwrap_or_default();
    let made = command.env_clear().env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null()).output();
    let made = made.map_err(|e| e.to_string())?;
    if made.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&made.stderr).trim().to_owned();
    Err(said.lines().next_back().unwrap_or("bwrap failed").to_owned())
}
