//! Failpoints for the tests. Without the feature `faults` every call is empty and compiles to nothing.
//!
//! With it, `SKEIN_FAULT=<site>:<k>:<action>` strikes at the k-th crossing of a site: `point` (named
//! places between durable steps; the name of one is a site too), `git` (before and after every git process)
//! or `file` (every durable file operation). Actions: `kill`, `panic`, `ENOSPC`, `EIO`, `EACCES`; `<k>+` fails there and ever after, as a full
//! disk does. `SKEIN_FAULT_MARK` names a file that is made when the fault strikes, so that a sweep knows
//! where it ends and that it struck at all. The action `count` disturbs nothing and notes every crossing of every
//! site there.

#[cfg(not(feature = "faults"))]
mod armed {
    pub fn point(_name: &str) {}

    pub fn git() -> std::io::Result<()> {
        Ok(())
    }

    pub fn file() -> std::io::Result<()> {
        Ok(())
    }

    pub fn for_supervisor(
        env: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    ) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        env
    }
}

#[cfg(feature = "faults")]
#[expect(
    clippy::disallowed_methods,
    reason = "test builds only: the fault plan comes from the test's environment"
)]
mod armed {
    use std::ffi::OsString;
    use std::io;
    use std::sync::LazyLock;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering;

    struct Plan {
        site: String,
        at: u64,
        /// From the k-th crossing on.
        lasting: bool,
        action: String,
        mark: Option<std::ffi::OsString>,
    }

    static PLAN: LazyLock<Option<Plan>> = LazyLock::new(|| {
        let text = std::env::var("SKEIN_FAULT").ok()?;
        // From the end: the name of a point may hold colons.
        let mut parts = text.rsplitn(3, ':');
        let (action, at, site) = (parts.next()?, parts.next()?, parts.next()?);
        let lasting = at.strip_suffix('+');
        Some(Plan {
            site: site.to_owned(),
            at: lasting.unwrap_or(at).parse().ok()?,
            lasting: lasting.is_some(),
            action: action.to_owned(),
            mark: std::env::var_os("SKEIN_FAULT_MARK"),
        })
    });

    static CROSSED: AtomicU64 = AtomicU64::new(0);

    fn cross(site: &str, name: &str) -> io::Result<()> {
        let Some(plan) = PLAN.as_ref() else { return Ok(()) };
        if plan.action == "count" {
            return count(plan, site, name);
        }
        if plan.site != site && plan.site != name {
            return Ok(());
        }
        let crossing = CROSSED.fetch_add(1, Ordering::SeqCst) + 1;
        if crossing < plan.at || (crossing > plan.at && !plan.lasting) {
            return Ok(());
        }
        if let Some(mark) = plan.mark.as_ref().filter(|_| crossing == plan.at) {
            std::fs::write(mark, name)?;
        }
        let errno = match plan.action.as_str() {
            "ENOSPC" => rustix::io::Errno::NOSPC,
            "EIO" => rustix::io::Errno::IO,
            "EACCES" => rustix::io::Errno::ACCESS,
            "panic" => panic!("struck at {name}"),
            _ => {
                let _ =
                    rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
                loop {
                    std::thread::park();
                }
            }
        };
        Err(errno.into())
    }

    /// One line at a time, whole: other threads and processes of the verb write there too.
    fn count(plan: &Plan, site: &str, name: &str) -> io::Result<()> {
        let Some(mark) = &plan.mark else { return Ok(()) };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(mark)?;
        io::Write::write_all(&mut file, format!("{} {site} {name}\n", std::process::id()).as_bytes())
    }

    pub fn point(name: &str) {
        let _ = cross("point", name);
    }

    pub fn git() -> io::Result<()> {
        cross("git", "git")
    }

    pub fn file() -> io::Result<()> {
        cross("file", "file")
    }

    /// The fault plan is for one process: the supervisor has its own, in `SKEIN_SUPERVISOR_FAULT`.
    pub fn for_supervisor(env: Vec<(OsString, OsString)>) -> Vec<(OsString, OsString)> {
        let kept = env.into_iter().filter(|(k, _)| k != "SKEIN_FAULT");
        kept.map(|(k, v)| (if k == "SKEIN_SUPERVISOR_FAULT" { "SKEIN_FAULT".into() } else { k }, v)).collect()
    }
}

/// A named place between two durable steps.
pub use armed::point;

/// Before and after every git process.
pub use armed::git;

/// Before every durable file operation.
pub use armed::file;

/// The environment that a supervisor is given.
pub use armed::for_supervisor;
