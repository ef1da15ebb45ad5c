//! Session documents, through the built binary: what a person and an agent write, byte for byte.

mod again;
mod baseline;
mod bytes;
mod git;
mod hostile;
mod merge;
mod refused;
mod verbs;

use crate::support::Ran;
use crate::support::World;
use crate::support::ran;
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::process::Stdio;
use std::rc::Rc;

/// The identity that the documents here have unless they say another.
const ID: &str = "01jgzzzzzzzzzzzzzzzzzzzzzz";

const FRONT: &str = "---\nskein_doc: 01jgzzzzzzzzzzzzzzzzzzzzzz\n---\n";

/// A document with an exchange that holds `said`.
fn exchange(said: &str) -> String {
    format!("{FRONT}# T\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->\n")
}

/// The same with a status above it.
fn with_status(status: &str, said: &str) -> String {
    format!(
        "{FRONT}# T\n\n<!-- agent:status -->\n{status}<!-- /agent:status -->\n\n<!-- agent:exchange -->\n{said}<!-- /agent:exchange -->\n"
    )
}

fn block(component: &str, content: &str) -> String {
    format!("<!-- patch:{component} -->\n{content}\n<!-- /patch:{component} -->\n")
}

/// A document in a repository, by the path that commands are given.
struct Doc {
    world: Rc<World>,
    file: String,
}

impl Doc {
    /// The file `t.md`, in the second commit.
    fn new(text: &str) -> Doc {
        Doc::named("t.md", text)
    }

    fn named(file: &str, text: &str) -> Doc {
        let doc = Doc::in_world(World::in_memory(), file);
        doc.put(text);
        doc.world.commit("the document");
        doc
    }

    fn in_world(world: impl Into<Rc<World>>, file: &str) -> Doc {
        Doc { world: world.into(), file: file.to_owned() }
    }

    /// The person writes the whole text.
    fn put(&self, text: &str) {
        self.world.write(&self.file, text);
    }

    /// The person changes a part of it that is there once.
    #[track_caller]
    fn change(&self, old: &str, new: &str) {
        let text = self.text();
        assert_eq!(text.matches(old).count(), 1, "{old:?} in {text}");
        self.put(&text.replace(old, new));
    }

    fn text(&self) -> String {
        String::from_utf8(fs::read(self.world.path(&self.file)).unwrap()).unwrap()
    }

    /// `verb` on the document, with more words behind it.
    fn run(&self, verb: &str, more: &[&str]) -> Ran {
        ran(self.command(verb, more).output().unwrap())
    }

    /// The same with `input` on standard input.
    fn fed(&self, verb: &str, more: &[&str], input: &str) -> Ran {
        fed(self.command(verb, more), input)
    }

    fn command(&self, verb: &str, more: &[&str]) -> Command {
        let words = ["doc"].into_iter().chain(verb.split(' '));
        self.world.command(&words.chain([self.file.as_str()]).chain(more.iter().copied()).collect::<Vec<_>>())
    }

    #[track_caller]
    fn preflight(&self) -> Value {
        self.run("preflight", &[]).ok().json()["result"].clone()
    }

    /// Sends what is new; it must be something.
    #[track_caller]
    fn send(&self) -> u64 {
        let sent = self.preflight();
        assert_eq!(sent["no_changes"], false, "{sent}");
        sent["turn"].as_u64().unwrap()
    }

    /// The person writes the whole text, and it is sent.
    #[track_caller]
    fn send_after(&self, text: &str) -> u64 {
        self.put(text);
        self.send()
    }

    #[track_caller]
    fn write(&self, answer: &str) -> Ran {
        self.fed("write", &[], answer).ok()
    }

    #[track_caller]
    fn respond(&self, answer: &str) -> Ran {
        self.fed("respond", &[], answer).ok()
    }

    /// What is new, without headers: the lines that come and go.
    #[track_caller]
    fn new_lines(&self) -> Vec<String> {
        let diff = self.run("diff", &[]).ok().out;
        let lines = diff.lines().skip(2).filter(|line| line.starts_with(['+', '-']));
        lines.map(str::to_owned).collect()
    }

    /// The bytes that `HEAD` has at the path.
    #[track_caller]
    fn head(&self) -> String {
        self.blob(&format!("HEAD:{}", self.file))
    }

    /// What the agent knows.
    #[track_caller]
    fn known(&self) -> String {
        self.blob(&format!("refs/skein/doc/{ID}:text"))
    }

    #[track_caller]
    fn blob(&self, name: &str) -> String {
        let found = self.world.try_git(["cat-file", "blob", name]);
        assert!(found.status.success(), "{name}: {}", String::from_utf8_lossy(&found.stderr));
        String::from_utf8(found.stdout).unwrap()
    }

    /// The step that the document is at; empty before the first.
    fn step(&self) -> String {
        self.world.git(["for-each-ref", "--format=%(objectname)", "refs/skein/doc"])
    }

    /// The file, what is committed and what the agent knows are all this text.
    #[track_caller]
    fn is(&self, text: &str) {
        assert_eq!(self.text(), text, "the file");
        assert_eq!(self.head(), text, "HEAD");
        assert_eq!(self.known(), text, "what the agent knows");
        assert_eq!(self.world.git(["status", "--porcelain"]), "");
        self.tidy();
    }

    /// Nothing of a write lies about, and git finds no fault.
    #[track_caller]
    fn tidy(&self) {
        let folder = self.world.path(&self.file).parent().unwrap().to_owned();
        assert_eq!(left(&folder), Vec::<String>::new());
        self.world.check();
    }
}

/// Runs a command with this standard input.
fn fed(mut command: Command, input: &str) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // One that ends before it reads all is looked at by its exit.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    ran(child.wait_with_output().unwrap())
}

/// Makes `stub` an agent that runs this script.
fn agent(world: &World, script: &str) {
    let folder = world.root().join("home/config/agent-doc");
    fs::create_dir_all(&folder).unwrap();
    let script = serde_json::to_string(script).unwrap();
    let text = format!("[agents.stub]\ncommand = \"sh\"\nargs = [\"-c\", {script}]\n");
    fs::write(folder.join("config.toml"), text).unwrap();
}

/// Files of ours in a folder of the person's.
fn left(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().to_string_lossy().into_owned());
    names.filter(|name| name.ends_with('~') || name.ends_with(".tmp")).collect()
}
