//! What the process was born with: environment, working directory, own binary. Read once, then carried
//! as a value, so that nothing below depends on hidden process state.

use crate::domain::Failure;
use crate::domain::Result;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::ffi::OsString;
use std::path::Path;
use std::path::PathBuf;

/// The surroundings of one invocation.
#[derive(Debug, Clone)]
pub struct Env {
    vars: BTreeMap<OsString, OsString>,
    cwd: PathBuf,
    exe: PathBuf,
}

impl Env {
    /// Reads everything. A fault when the working directory was deleted or the binary cannot be found.
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
    pub fn capture() -> Result<Env> {
        Ok(Env {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().map_err(|e| Failure::fault("finding the current directory", e))?,
            exe: std::env::current_exe().map_err(|e| Failure::fault("finding our own binary", e))?,
        })
    }

    /// The value of a variable; any bytes.
    pub fn get(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str)
    }

    /// All variables, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.vars.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }

    /// The working directory at the start.
    pub fn cwd(&self) -> &Path {
        &self.cwd
    }

    /// This program, to be executed again as supervisor or launcher.
    pub fn exe(&self) -> &Path {
        &self.exe
    }

    /// The same surroundings without the variables that `drop` names, and with `set`.
    pub fn changed(&self, drop: impl Fn(&OsStr) -> bool, set: &[(&str, &OsStr)]) -> Env {
        let mut vars = self.vars.clone();
        vars.retain(|name, _| !drop(name));
        vars.extend(set.iter().map(|(name, value)| (OsString::from(name), (*value).to_owned())));
        Env { vars, cwd: self.cwd.clone(), exe: self.exe.clone() }
    }

    #[cfg(test)]
    pub fn of(vars: &[(&str, &str)]) -> Env {
        Env {
            vars: vars.iter().map(|(name, value)| (name.into(), value.into())).collect(),
            cwd: PathBuf::from("/"),
            exe: PathBuf::from("/bin/true"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn captures_the_surroundings() {
        let env = Env::capture().unwrap();
        assert!(env.cwd().is_absolute());
        assert!(env.exe().is_file());
        assert_eq!(env.get("PATH"), env.iter().find(|(name, _)| *name == "PATH").map(|(_, value)| value));
        assert_eq!(env.get("SKEIN_NO_SUCH_VARIABLE"), None);
    }

    #[test]
    fn variables_are_dropped_and_set_on_a_copy() {
        let env = Env::of(&[("GIT_DIR", "x"), ("PATH", "y")]);
        let other = env.changed(|name| name == "GIT_DIR", &[("HOME", OsStr::new("z"))]);
        assert_eq!((other.get("GIT_DIR"), other.get("PATH")), (None, Some(OsStr::new("y"))));
        assert_eq!((other.get("HOME"), env.get("HOME")), (Some(OsStr::new("z")), None));
    }
}
