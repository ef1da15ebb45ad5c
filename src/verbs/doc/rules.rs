//! How components take what is put into them, where the repository says so: `.skein/components.toml`, else the file of
//! agent-doc.

use crate::domain::Failure;
use crate::domain::Refusal;
use crate::domain::Result;
use crate::domain::Token;
use crate::domain::document::Configured;
use crate::domain::document::Rule;
use crate::domain::document::rules;
use crate::host::Run;
use crate::verbs::doc::open::Open;
use crate::verbs::session::Session;
use crate::verbs::trust::is_trusted;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::time::Duration;

/// Where they are said, below the top of the working tree; the first that is there counts.
const FILES: [&str; 2] = [".skein/components.toml", ".agent-doc/components.toml"];

/// How long a `pre_patch` may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that are kept of what it says.
const MOST: usize = 8 << 20;

#[derive(Debug, Default)]
pub struct Rules {
    /// The file, and what it holds.
    file: Option<(&'static str, Vec<u8>)>,
    said: BTreeMap<String, Configured>,
}

impl Rules {
    pub fn load(open: &Open) -> Result<Rules> {
        for file in FILES {
            let path = open.admin.path.join(file);
            let Some(bytes) = crate::host::read_optional(&path)? else { continue };
            let said = rules(&String::from_utf8_lossy(&bytes)).map_err(|why| {
                Refusal::new(Token::BadDocument, format!("{file}:{}: {}", why.line, why.says))
                    .show(format!("cat {}", crate::domain::quoted(&path)))
                    .next("mend that line, then try again; nothing was written")
            })?;
            return Ok(Rules { file: Some((file, bytes)), said });
        }
        Ok(Rules::default())
    }

    pub fn of(&self, component: &str) -> Option<&Configured> {
        self.said.get(component)
    }

    /// The time, as an entry that is dated begins with it.
    pub fn stamp(&self, session: &Session<'_>) -> String {
        let now = jiff::Timestamp::from_second(session.clock.now_secs()).unwrap_or_default();
        format!("{now:.0}")
    }

    /// `content` as the command makes it.
    fn transformed(
        &self,
        session: &Session<'_>,
        open: &Open,
        component: &str,
        command: &str,
        content: &str,
    ) -> Result<String> {
        self.refuse_untrusted(session, command)?;
        let ended = crate::host::run_to_end(Run {
            argv: argv(command),
            cwd: open.admin.path.clone(),
            env: surroundings(session, open, component),
            stdin: Some(content.as_bytes().to_vec()),
            timeout: Some(PATIENCE),
            keep: MOST,
        })?;
        if ended.code == Some(0) && !ended.timed_out {
            return Ok(String::from_utf8_lossy(&ended.output).into_owned());
        }
        let how = match ended.code {
            _ if ended.timed_out => format!("was ended after {} s", PATIENCE.as_secs()),
            Some(code) => format!("ended with {code}"),
            None => "was killed".to_owned(),
        };
        Err(Refusal::new(Token::HookFailed, format!("pre_patch of {component} {how}: {command}"))
            .lines(String::from_utf8_lossy(&ended.output).lines().take(20).map(str::to_owned))
            .show(format!("cat {}", self.path()))
            .next("mend it, then try again; nothing was written")
            .into())
    }

    /// Starts the command and waits for nothing.
    pub fn told(&self, session: &Session<'_>, open: &Open, component: &str, command: &str) -> Result<()> {
        self.refuse_untrusted(session, command)?;
        crate::host::make_dir(&session.local.run())?;
        let log = session.local.run().join("post_patch.log");
        crate::host::detach(&argv(command), &open.admin.path, &surroundings(session, open, component), &log)
            .map(drop)
    }

    fn path(&self) -> &'static str {
        self.file.as_ref().map_or(FILES[0], |(file, _)| file)
    }

    /// What goes into a component as its rule has it on the way. What may not run afterwards is refused before anything
    /// is written.
    pub fn prepared(
        &self,
        session: &Session<'_>,
        open: &Open,
        (component, rule): (&str, &Rule),
        content: &str,
    ) -> Result<String> {
        if let Some(command) = &rule.post_patch {
            self.refuse_untrusted(session, command)?;
        }
        match &rule.pre_patch {
            Some(command) => self.transformed(session, open, component, command, content),
            None => Ok(content.to_owned()),
        }
    }

    /// Refuses where nobody has trusted what the file says to run.
    fn refuse_untrusted(&self, session: &Session<'_>, command: &str) -> Result<()> {
        let content = self.file.as_ref().map(|(_, bytes)| bytes.as_slice()).unwrap_or_default();
        if is_trusted(session, content) {
            return Ok(());
        }
        let digest = crate::domain::sha256(content);
        Err(Failure::from(
            Refusal::new(
                Token::Untrusted,
                format!("{} makes a command run, and nobody has trusted it here", self.path()),
            )
            .lines([format!("digest: {digest}"), format!("command: {command}")])
            .show(format!("cat {}", self.path()))
            .next(format!("read it; if it may run, as you: git config --add skein.trust {digest}")),
        ))
    }
}

fn argv(command: &str) -> Vec<OsString> {
    vec!["sh".into(), "-c".into(), command.into()]
}

fn surroundings(session: &Session<'_>, open: &Open, component: &str) -> Vec<(OsString, OsString)> {
    let own = [("COMPONENT", OsString::from(component)), ("FILE", open.place.path.clone().into())];
    let all = session.env.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
    all.chain(own.map(|(name, value)| (name.into(), value))).collect()
}
