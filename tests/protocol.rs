//! What a worker and its supervisor say to each other, with shell scripts as agents: each verb, each refusal, who
//! may speak for whom, and what a kill leaves.

use crate::jail::possible;
use crate::support::Ran;
use crate::support::World;
use crate::support::acts::is_free;
use crate::support::acts::runs;
use crate::support::acts::until;
use std::fs;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::process::Command;

const DONE: &str =
    "git skein worker done --outcome complete --summary 'The file n is new' --evidence 'cat n: 1'";
const COMMIT: &str = "echo 1 >n; git add n; git commit -qm 'n is new'";

/// A world for each level that workers can be shut in by here.
pub fn levels() -> Vec<(World, &'static str)> {
    let mut found = vec![(World::new(), "none")];
    if possible() {
        found.push((World::new(), "bwrap"));
    }
    found
}

/// How often a refusal was printed.
#[track_caller]
pub fn refusals(said: &str, token: &str, times: usize) {
    assert_eq!(said.matches(&format!("refused: {token}:")).count(), times, "{said}");
}

/// With one stream for all that is said: two of them meet in the log in any order.
pub fn in_order(script: &str) -> String {
    format!("exec 2>&1\n{script}")
}

impl World {
    /// Dispatches a worker that runs `script`, and waits for it.
    fn speaks(&self, level: &str, name: &str, script: &str) -> Ran {
        let options = ["--wait", "--timeout", "100s", "--jail", level, "--name", name];
        let script = &in_order(script);
        self.skein(&[&["dispatch"], &options[..], &[name, "--", "sh", "-c", script]].concat())
    }

    /// The same without waiting. Gives the folder of its run.
    fn begins(&self, level: &str, name: &str, script: &str) -> PathBuf {
        let options = ["--timeout", "100s", "--jail", level, "--name", name];
        let script = &in_order(script);
        self.skein(&[&["dispatch"], &options[..], &[name, "--", "sh", "-c", script]].concat()).ok();
        self.path(".git/skein/run").join(self.ulid(name))
    }

    fn heard(&self, name: &str) -> String {
        self.skein(&["show", "--log", name]).ok().out
    }

    fn card(&self, name: &str) -> String {
        self.skein(&["show", name]).ok().out
    }

    /// Speaks as the worker whose outbox it is, from here.
    fn pretends(&self, run: &std::path::Path, args: &[&str]) -> Ran {
        let mut command = self.command(&[&["worker"], args].concat());
        command.env("SKEIN_OUTBOX", run.join("outbox"));
        crate::support::ran(command.output().unwrap())
    }
}

#[test]
fn a_worker_says_how_it_goes_and_that_it_is_done() {
    for (world, level) in levels() {
        let script = format!(
            "set -e
            git skein worker todo one two three
            git skein worker todo --check 1 --check 3
            git skein worker progress 'reading
files'
            git skein worker progress 'writing n'
            git skein worker note 'a.txt has nine lines'
            {COMMIT}
            {DONE} --evidence 'ls n: n'"
        );
        world.speaks(level, "w", &script).ok();
        let card = world.card("w");
        for line in [
            "  outcome   ready: complete: The file n is new\n",
            "  done      2 of 3 todos\n  todo      2. two\n",
            "  progress  writing n\n",
            "  claims    complete: The file n is new\n            cat n: 1\n            ls n: n\n",
            "  observed  1 commit, 1 file\n",
            "  passed    nothing was seen to pass on its commits\n",
        ] {
            assert!(card.contains(line), "{line}\n{card}");
        }
        assert!(!card.contains("1. one") && !card.contains("3. three"), "{card}");
        let events = world.skein(&["show", "--events", "w"]).ok().out;
        let at = |what: &str| events.find(what).unwrap_or_else(|| panic!("no {what:?} in {events}"));
        assert!(at("todo: 2 of 3 done") < at("progress: reading files"), "{events}");
        assert!(at("note: a.txt has nine lines") < at("done: The file n is new"), "{events}");
        assert!(at("w: delta 1") < at("w: ready"), "{events}");
        let json = world.skein(&["show", "w", "--json"]).ok().json()["result"].clone();
        assert_eq!(json["claim"]["outcome"], "complete");
        assert_eq!(json["deltas"], 1, "it is frozen before anybody imports it");
        world.skein(&["land", "w", "--gate", "test -f n"]).ok();
        assert!(world.card("w").contains("  passed    test -f n\n"), "{}", world.card("w"));
        assert_eq!(world.field("w", "deltas"), 1, "what landed is what was frozen");
        world.check();
    }
}

#[test]
fn each_call_takes_a_snapshot() {
    for (world, level) in levels() {
        let script = "echo precious >n; git skein worker note 'before'; rm n; git skein worker note 'after'
            git skein worker fail --reason 'no way to do it'";
        world.speaks(level, "w", script).code(1);
        let id = world.ulid("w");
        let first =
            world.lines(&["rev-list", "--reverse", "--first-parent", &format!("refs/skein-local/wip/{id}")]);
        let all = world.git(["log", "-m", "--format=", "--name-only", &format!("refs/skein-local/wip/{id}")]);
        assert!(all.contains('n') && !first.is_empty(), "{all}");
        assert!(world.field("w", "flags").to_string().contains("self-discarded"));
        assert_eq!(world.field("w", "reason"), "it gave up: no way to do it");
        assert_eq!(world.field("w", "outcome"), "failed");
    }
}

#[test]
fn a_claim_that_says_too_little_is_sent_back() {
    for (world, level) in levels() {
        let done = "git skein worker done --outcome complete";
        let script = format!(
            "{done}; echo $?; {done} --summary done --evidence ok; echo $?
            {done} --summary 'The file n is new' --evidence 'cat n: 1'; echo $?
            echo 1 >n; {DONE}; echo $?"
        );
        world.speaks(level, "w", &script).code(3);
        let said = world.heard("w");
        refusals(&said, "vague", 2);
        assert!(said.contains("evidence \"ok\": name the command"), "{said}");
        assert!(said.contains("evidence: name at least one thing"), "{said}");
        assert_eq!(said.matches("refused: empty: nothing is committed").count(), 2, "{said}");
        assert_eq!(said.matches("\n1\n").count(), 4, "{said}");
        // It ended well, and is no success.
        assert_eq!(world.field("w", "exit"), 0);
        assert!(world.field("w", "reason").as_str().unwrap().starts_with("uncommitted:"));
        assert_eq!(world.field("w", "claim"), serde_json::Value::Null);
    }
}

#[test]
fn a_claim_that_could_not_be_taken_is_sent_back() {
    for (world, level) in levels() {
        let script = format!(
            "mkdir -p .github/workflows; echo on: push >.github/workflows/x.yml; git add -A; git commit -qm x
            {DONE}; echo $?; git reset -q --hard HEAD~1; {COMMIT}; echo more >m; {DONE}"
        );
        world.speaks(level, "w", &script).ok();
        let said = world.heard("w");
        assert!(
            said.contains("refused: forbidden-path:") && said.contains(".github/workflows/x.yml"),
            "{said}"
        );
        assert!(said.contains("1 changed files are not committed"), "{said}");
        assert_eq!(world.field("w", "outcome"), "ready");
        world.check();
    }
}

#[test]
fn nothing_to_do_is_an_answer_unless_something_changed() {
    for (world, level) in levels() {
        let done = "git skein worker done --outcome nothing-to-do --summary 'a.txt has nine lines already' \
                    --evidence 'wc -l a.txt: 9'";
        world.speaks(level, "w", done).ok();
        assert!(world.field("w", "reason").as_str().unwrap().starts_with("nothing-to-do: "));
        assert_eq!(world.field("w", "deltas"), 0);
        world.speaks(level, "x", &format!("echo 1 >n; {done}")).code(3);
        assert!(world.field("x", "reason").as_str().unwrap().starts_with("uncommitted: "));
    }
}

#[test]
fn what_comes_after_the_last_word_is_not_heard_and_the_run_ends() {
    for (world, level) in levels() {
        let script = format!(
            "trap '' TERM; {COMMIT}; {DONE}; git skein worker note late; echo $?
            git skein worker fail --reason 'changed my mind'; while :; do sleep 0.05; done"
        );
        world.speaks(level, "w", &script).ok();
        let said = world.heard("w");
        refusals(&said, "turn-ended", 2);
        assert_eq!(world.field("w", "outcome"), "ready");
        assert_eq!(world.field("w", "deltas"), 1);
    }
}

#[test]
fn a_question_ends_the_turn_and_its_answer_waits() {
    for (world, level) in levels() {
        let ask = "git skein worker wait --question 'Which colour?' --option red --option 'dark blue'";
        let ran = world.speaks(level, "w", &format!("{ask}; {ask}; echo $?"));
        assert!(ran.code(3).out.contains("next: git skein tell w"));
        assert!(world.heard("w").contains("refused: turn-ended:"));
        let status = world.skein(&["status"]).ok().out;
        assert!(status.contains("needs-input") && status.contains("git skein tell w"), "{status}");
        assert!(status.contains("w asks: 1. Which colour? [red] [dark blue]\n"), "{status}");
        assert!(world.card("w").contains("  asks      1. Which colour? [red] [dark blue]\n"));
        world.skein(&["tell", "w", "red", "--to", "2"]).refused("no-such-question", 1);
        world.skein(&["tell", "w", " "]).refused("no-task", 1);
        let told = world.skein(&["tell", "w", "red"]).ok().out;
        assert!(told.contains("queued: its turn has ended") && told.contains("question 1"), "{told}");
        assert!(world.card("w").contains("  told      1 to question 1 (queued): red\n"));
        world.skein(&["tell", "w", "red", "--to", "1"]).refused("no-such-question", 1);
        assert!(!world.skein(&["status"]).ok().out.contains("asks:"));
        world.skein(&["import", "w"]).refused("not-ready", 1);
        world.check();
    }
}

#[test]
fn a_worker_that_stays_gets_its_answers_oldest_first() {
    for (world, level) in levels() {
        let ask = "git skein worker wait --stay --question";
        let script = format!(
            "{ask} 'First?' >one & sleep 0.3; {ask} 'Second?' >two & wait
            git skein worker inbox >three; git skein worker inbox >four
            git add -A; git commit -qm answers; {DONE}"
        );
        world.begins(level, "w", &script);
        until("two questions", || world.field("w", "asks").as_array().is_some_and(|asks| asks.len() == 2));
        assert_eq!(world.field("w", "outcome"), "active");
        let told = world.skein(&["tell", "w", "one\nline more"]).ok().out;
        assert!(told.contains("answers question 1") && told.contains("1 question open"), "{told}");
        until("the first answer", || fs::read(world.worktree("w").join("one")).is_ok_and(|b| !b.is_empty()));
        let third = world.skein(&["tell", "w", "for its inbox", "--to", "2", "--json"]).ok().json();
        assert_eq!(third["result"]["state"], "queued");
        world.skein(&["wait", "w"]).ok();
        let file = |name: &str| fs::read_to_string(world.worktree("w").join(name)).unwrap();
        assert_eq!(file("one"), "message 1 (to question 1):\none\nline more\n");
        assert_eq!(file("two"), "message 2 (to question 2):\nfor its inbox\n");
        assert_eq!((file("three"), file("four")), ("no messages\n".into(), "no messages\n".into()));
        assert!(world.card("w").contains("  told      2 to question 2 (read): for its inbox\n"));
        world.skein(&["tell", "w", "too late"]).refused("undeliverable", 1);
    }
}

#[test]
fn a_message_is_in_the_inbox_until_it_is_read() {
    for (world, level) in levels() {
        let script = "until test -f go; do sleep 0.02; done; git skein worker inbox; rm go
            until test -f go; do sleep 0.02; done; git skein worker inbox; git skein worker fail --reason 'enough of it'";
        world.begins(level, "w", script);
        let told = world.skein(&["tell", "w", "use tabs"]).ok().out;
        assert!(told.contains("message 1 queued: it has it when it asks"), "{told}");
        let go = world.worktree("w").join("go");
        fs::write(&go, "").unwrap();
        until("the first look", || !go.exists());
        assert!(world.card("w").contains("  told      1 (read): use tabs\n"), "{}", world.card("w"));
        world.skein(&["tell", "w", "and no spaces"]).ok();
        fs::write(&go, "").unwrap();
        world.skein(&["wait", "w"]).code(1);
        let said = world.heard("w");
        assert_eq!(
            said,
            "message 1:\nuse tabs\nmessage 2:\nand no spaces\n\
            noted that it cannot be done; what there is of it is kept. End your turn now: in 5 s it is ended for you\n"
        );
    }
}

#[test]
fn a_message_that_nobody_asked_for_is_undeliverable_in_the_end() {
    let world = World::new();
    world.begins("none", "w", "until test -f go; do sleep 0.02; done");
    world.skein(&["tell", "w", "hello"]).ok();
    fs::write(world.worktree("w").join("go"), "").unwrap();
    world.skein(&["wait", "w"]).code(3);
    fs::remove_file(world.worktree("w").join("go")).unwrap();
    world.worker("x", "true");
    world.skein(&["tell", "x", "hello"]).refused("undeliverable", 1);
    world.skein(&["tell", "w", "hello"]).ok();
}

#[test]
fn only_a_worker_speaks_as_one_and_only_for_itself() {
    let world = World::new();
    let calls: [&[&str]; 3] = [&["worker", "todo"], &["worker", "inbox"], &["worker", "note", "x"]];
    for call in calls {
        world.skein(call).refused("not-a-worker", 1);
    }
    for (world, level) in levels() {
        let run = world.begins(level, "victim", "until test -f go; do sleep 0.02; done; rm go");
        // From outside of all workers, and from another one.
        world.pretends(&run, &["note", "x"]).refused("not-the-worker", 1);
        world.pretends(&run, &["wait", "--question", "x"]).refused("not-the-worker", 1);
        let script = format!(
            "SKEIN_OUTBOX='{0}/outbox' git skein worker fail --reason 'not mine'; echo $?
            git skein tell victim x; echo $?; git skein land victim; echo $?",
            run.display()
        );
        world.worker("spoofer", &in_order(&script));
        let said = world.heard("spoofer");
        assert!(said.contains("refused: not-the-worker:"), "{said}");
        refusals(&said, "in-worker", 2);
        fs::write(world.worktree("victim").join("go"), "").unwrap();
        world.skein(&["wait", "victim"]).ok();
        assert_eq!(world.field("victim", "outcome"), "ready");
        let events = world.skein(&["show", "--events", "victim"]).ok().out;
        assert_eq!(events.matches("refused: not-the-worker").count(), 3, "{events}");
        world.pretends(&run, &["note", "x"]).refused("not-a-worker", 1);
    }
}

/// A jailed worker does not even see another one's outbox.
#[test]
fn a_jailed_worker_reaches_no_other_outbox() {
    if !possible() {
        return;
    }
    let world = World::new();
    let run = world.begins("bwrap", "victim", "until test -f go; do sleep 0.02; done; rm go");
    let script = format!(
        "ls '{0}' && exit 9; SKEIN_OUTBOX='{0}/outbox' git skein worker note x; exit $?",
        run.display()
    );
    world.speaks("bwrap", "spoofer", &script).code(1);
    assert!(world.heard("spoofer").contains("refused: not-a-worker:"), "{}", world.heard("spoofer"));
    fs::write(world.worktree("victim").join("go"), "").unwrap();
    world.skein(&["wait", "victim"]).ok();
}

#[test]
fn what_is_no_request_is_refused_and_holds_up_nobody() {
    for (world, level) in levels() {
        let script = "cd $SKEIN_OUTBOX; R=../replies
            echo secret >$OLDPWD/away; ln -s $OLDPWD/away link.json; ln -s /dev/zero zero.json; mkfifo pipe.json
            mkdir -p folder.json/below; head -c 3000000 /dev/zero >huge.json; printf '{\"v\":1' >.bad
            flock .bad sh -c 'mv .bad bad.json; until test -s ../replies/bad.json; do sleep 0.01; done'
            printf '{\"v\":1,\"call\":{\"verb\":\"note\",\"text\":\"x\"}}' >unlocked.json; touch 'any name' x.txt
            : >$(printf 'x%.0s' $(seq 200)).json
            for n in link zero pipe folder huge bad; do
                until test -s $R/$n.json; do sleep 0.01; done; grep -o '\"token\":\"[a-z-]*\"' $R/$n.json
            done
            until test -s $R/unlocked.json; do sleep 0.01; done; grep -o '\"token\":\"[a-z-]*\"' $R/unlocked.json
            echo x >$R/forged && echo wrote; cd $OLDPWD
            git skein worker note 'heard all the same'; git skein worker todo --check 7; echo $?
            git skein worker note ''; git skein worker note \"$(head -c 9000 /dev/zero | tr '\\0' x)\"; true";
        world.speaks(level, "w", script).code(3);
        let said = world.heard("w");
        assert_eq!(said.matches("\"token\":\"bad-call\"").count(), 6, "{said}");
        assert_eq!(said.matches("\"token\":\"not-the-worker\"").count(), 1, "{said}");
        assert!(said.contains("noted\n") && !said.contains("secret"), "{said}");
        assert!(said.contains("refused: bad-call: there is no item 7"), "{said}");
        refusals(&said, "bad-call", 3);
        if level == "bwrap" {
            assert!(!said.contains("wrote"), "{said}");
        }
        let outbox = world.path(".git/skein/run").join(world.ulid("w")).join("outbox");
        let left = fs::read_dir(outbox).unwrap().flatten().filter(|e| !e.file_type().unwrap().is_fifo());
        assert!(left.count() <= 1, "only the folder that holds something stays");
    }
}

#[test]
fn a_worker_of_another_user_speaks_too() {
    if !crate::jail::is_root() {
        return;
    }
    for (world, level) in levels() {
        let world = world.given_to_nobody();
        let script = format!("echo 1 >n; git skein worker commit -m n; {DONE}");
        world.speaks(level, "w", &script).ok();
        assert_eq!(world.field("w", "deltas"), 1, "{}", world.heard("w"));
        // Root may write there, and speaks for nobody all the same.
        let run = world.begins(level, "x", "until test -f go; do sleep 0.02; done; rm go");
        let mut root = Command::new(env!("CARGO_BIN_EXE_git-skein"));
        root.args(["worker", "note", "x"]).env("SKEIN_OUTBOX", run.join("outbox"));
        crate::support::ran(root.output().unwrap()).code(1);
        fs::write(world.worktree("x").join("go"), "").unwrap();
        world.skein(&["wait", "x"]);
    }
}

#[test]
fn many_calls_are_all_answered() {
    for (world, level) in levels() {
        let script = "for i in $(seq 100); do git skein worker note \"n $i\" || exit 9; done
            for i in 1 2 3 4 5 6 7 8; do git skein worker todo \"t $i\" >/dev/null || touch failed & done; wait
            test ! -f failed";
        world.speaks(level, "w", script).ok();
        let events = world.skein(&["show", "--events", "w"]).ok().out;
        assert_eq!(events.matches(" note: n ").count(), 100, "{events}");
        assert_eq!(world.field("w", "todos").as_array().unwrap().len(), 8);
    }
}

#[test]
fn a_killed_supervisor_leaves_what_was_said() {
    for (world, level) in levels() {
        let run = world.begins(level, "w", "git skein worker wait --stay --question 'Anybody there?'");
        until("a question", || !world.field("w", "asks").is_null());
        let supervisor = fs::read_to_string(run.join("pid")).unwrap();
        Command::new("kill").args(["-KILL", supervisor.trim()]).output().unwrap();
        until("the supervisor to end", || !runs(supervisor.trim()) && is_free(&run));
        world.pretends(&run, &["note", "x"]).refused("not-a-worker", 1);
        let told = world.skein(&["tell", "w", "yes"]);
        told.refused("undeliverable", 1);
        assert_eq!(world.field("w", "outcome"), "failed");
        let id = world.ulid("w");
        let record = world.git(["show", &format!("refs/skein/worker/{id}:record.json")]);
        assert!(record.contains("Anybody there?"), "{record}");
        world.skein(&["wait", "w"]).code(1);
        world.check();
    }
}

/// Told apart from silence: who waits for a person is at work.
#[test]
fn an_answer_may_be_waited_for_within_a_limit() {
    let world = World::new();
    let script = "exec 2>&1; git skein worker wait --stay --timeout 1s --question 'Now?'; echo $?; git skein worker inbox";
    let options = ["--wait", "--silence", "30s", "--name", "w"];
    world.skein(&[&["dispatch"], &options[..], &["w", "--", "sh", "-c", script]].concat()).ok();
    let said = world.heard("w");
    assert!(said.contains("refused: timed-out: there was no answer within 1 s"), "{said}");
    assert!(said.contains("\n75\n") && said.ends_with("no messages\n"), "{said}");
}

#[test]
fn the_manners_and_the_program_are_at_hand() {
    for (world, level) in levels() {
        world.speaks(level, "w", "cat $SKEIN_MANNERS; command -v git-skein && git skein --version").ok();
        let said = world.heard("w");
        assert!(
            said.contains("with nobody else's work in it") && said.contains("git skein worker done"),
            "{said}"
        );
        assert!(said.contains("git-skein 0."), "{said}");
    }
}

#[test]
fn a_commit_is_made_of_what_there_is_and_head_follows() {
    for (world, level) in levels() {
        let script = format!(
            "set -e; git checkout -q -b mine 2>/dev/null || true
            echo 1 >n; echo more >>a.txt; echo z >x.ign
            git skein worker commit -m 'only n' --path n
            git status --porcelain; git skein worker commit -m 'the rest

with a body'; git status --porcelain
            git log --format='%s|%an|%P' $SKEIN_BASE..; {DONE}"
        );
        world.speaks(level, "w", &script).ok();
        let said = world.heard("w");
        assert!(said.contains("\n M a.txt\ncommitted "), "{said}");
        let (base, tip) = (world.rev("main"), world.field("w", "head"));
        let tip = tip.as_str().unwrap();
        let first = world.rev(&format!("{tip}~1"));
        assert!(said.contains(&format!("the rest|w|{first}\nonly n|w|{base}\n")), "{said}");
        assert_eq!(world.git(["log", "-1", "--format=%B", tip]), "the rest\n\nwith a body");
        assert_eq!(world.git(["diff", "--name-only", &base, &first]), "n");
        assert_eq!(world.git(["diff", "--name-only", &first, tip]), "a.txt");
        let events = world.skein(&["show", "--events", "w"]).ok().out;
        assert!(events.contains(&format!("commit: {tip}")), "{events}");
        world.skein(&["land", "w"]).ok();
        world.check();
    }
}

#[test]
fn a_commit_is_refused_with_what_is_wrong_with_it() {
    for (world, level) in levels() {
        let commit = "git skein worker commit -m";
        let script = format!(
            "{commit} nothing; echo $?; {commit} ' '; echo 1 >n; {commit} n --path 'm/**'; {commit} n --path '['
            mkdir .claude; echo x >.claude/hook; {commit} hook; rm -r .claude
            git commit -q --allow-empty -m one; one=$(git rev-parse HEAD); git checkout -q $SKEIN_BASE
            git commit -q --allow-empty -m two; git merge -q --no-commit --no-ff $one; {commit} n; git merge --abort
            printf '%s' '{{\"v\":1,\"call\":{{\"verb\":\"commit\",\"message\":\"m\",\"head\":\"'$SKEIN_BASE'\"}}}}' \
                >$SKEIN_OUTBOX/.old; cd $SKEIN_OUTBOX
            flock .old sh -c 'mv .old old.json; until test -s ../replies/old.json; do sleep 0.01; done'
            grep -o '\"token\":\"[a-z-]*\"' ../replies/old.json"
        );
        world.speaks(level, "w", &script);
        let said = world.heard("w");
        refusals(&said, "empty", 2);
        refusals(&said, "bad-call", 1);
        refusals(&said, "bad-pattern", 1);
        refusals(&said, "forbidden-path", 1);
        assert!(said.contains(&format!("\"token\":\"{}\"", "head-moved")), "{said}");
        refusals(&said, "operation-in-progress", 1);
        assert!(said.contains(".claude/hook"), "{said}");
    }
}

#[test]
fn a_commit_waits_for_its_checks_and_leaves_them_as_evidence() {
    for (world, level) in levels() {
        let script = format!(
            "echo bad >n; git skein worker commit -m n; echo $?; git log -1 --format=%s
            echo 1 >n; git skein worker commit -m 'n is new' & sleep 0.2; git skein worker note meanwhile; wait
            git log -1 --format=%s; {DONE}"
        );
        let options = ["--wait", "--timeout", "100s", "--jail", level, "--name", "w"];
        let script = in_order(&script);
        let agent = ["--check", "sleep 0.5; grep 1 n", "--path", "a.txt", "w", "--", "sh", "-c", &script];
        world.skein(&[&["dispatch"], &options[..], &agent].concat()).ok();
        let said = world.heard("w");
        refusals(&said, "gate-failed", 1);
        assert!(said.contains("\n5\nbase\n") && said.contains("\nn is new\n"), "{said}");
        assert!(said.contains("not declared: n\n"), "{said}");
        let events = world.skein(&["show", "--events", "w"]).ok().out;
        let at = |what: &str| events.find(what).unwrap_or_else(|| panic!("no {what:?} in {events}"));
        assert!(at("note: meanwhile") < at(" commit: "), "it is heard while checks run: {events}");
        assert!(world.card("w").contains("  passed    sleep 0.5; grep 1 n\n"), "{}", world.card("w"));
        world.check();
    }
}

/// What `skein.jail` says for gates is not enough for the checks of a worker that is shut in.
#[test]
fn checks_are_shut_in_as_their_worker_is() {
    if !possible() {
        return;
    }
    for (level, escapes) in [("bwrap", false), ("none", true)] {
        let world = World::new();
        world.git(["config", "skein.jail", "none"]);
        let outside = world.root().join("outside");
        let check = format!("touch '{}' || true", outside.display());
        let script = in_order("echo 1 >n; git skein worker commit -m n");
        let options = ["dispatch", "--wait", "--jail", level, "--check", &check, "--name", "w", "w"];
        world.skein(&[&options[..], &["--", "sh", "-c", &script]].concat());
        assert!(world.heard("w").contains("committed "), "{}", world.heard("w"));
        assert!(world.card("w").contains(&format!("  checks    {check}\n")), "{}", world.card("w"));
        assert_eq!(outside.exists(), escapes, "{level}");
    }
}

#[test]
fn every_agent_but_the_built_in_one_reads_the_manners_below_its_task() {
    for (world, level) in levels() {
        let options = ["dispatch", "--wait", "--jail", level, "--spawn", "1", "--name"];
        let agents: [(&str, &[&str]); 3] = [
            ("in", &["sh", "-c", "cat"]),
            ("word", &["printf", "%s", "{brief}"]),
            ("file", &["cat", "{brief-file}"]),
        ];
        for (name, argv) in agents {
            world.skein(&[&options[..], &[name, "The task", "--"], argv].concat());
            let said = world.heard(name);
            assert!(said.starts_with("The task\n\n---\n\nYou are a worker of git-skein."), "{name}: {said}");
            for part in
                ["nobody else's work in it", "`git stash`", "git skein worker done --outcome", "worker spawn"]
            {
                assert!(said.contains(part), "{name}: {said}");
            }
            assert_eq!(world.skein(&["show", "--brief", name]).ok().out.trim(), "The task");
        }
        let alone = world.speaks(level, "alone", "cat; true").code(0).out;
        assert!(!alone.is_empty() && !world.heard("alone").contains("worker spawn"), "it may not");
        world.skein(&["dispatch", "--wait", "--jail", level, "--name", "own", "run: cat $SKEIN_BRIEF"]);
        assert!(!world.heard("own").contains("You are a worker"), "{}", world.heard("own"));
    }
}

/// What is seen of a run that said nothing: a change that is not committed is no success, and no change is named.
#[test]
fn a_run_without_a_word_is_judged_by_what_it_left() {
    for (world, level) in levels() {
        let left = world.speaks(level, "left", "echo 1 >n");
        assert!(left.code(3).out.contains("left needs-input: uncommitted: "));
        let status = world.skein(&["status"]).ok().out;
        assert!(
            status.contains("needs-input (uncommitted)") && status.contains("1 file, not committed"),
            "{status}"
        );
        let card = world.card("left");
        assert!(card.contains("  flags     uncommitted\n") && card.contains(": uncommitted: "), "{card}");
        let nothing = world.speaks(level, "nothing", "true").ok().out;
        assert!(nothing.contains("\nnothing ready: nothing changed: it ended without a commit"), "{nothing}");
        assert!(nothing.contains("(nothing)\nnext: git skein show --log nothing\n"), "{nothing}");
        let empty = world.speaks(level, "empty", "git commit -q --allow-empty -m x").ok().out;
        assert!(
            empty.contains("empty ready: nothing changed: what it committed comes to nothing"),
            "{empty}"
        );
        world.skein(&["reap", "empty", "--yes", "--include-unlanded"]).ok();
        // Whoever did nothing is not asked about when one is to land.
        world.speaks(level, "w", COMMIT).ok();
        assert!(world.card("w").contains("  outcome   ready\n"), "{}", world.card("w"));
        world.skein(&["land"]).ok();
        assert_eq!(world.git(["show", "main:n"]), "1");
    }
}
