//! The verbs one by one: what each does with its words, its paths, its commands and its workers.

use super::Doc;
use super::FRONT;
use super::agent;
use super::block;
use super::exchange;
use super::with_status;
use crate::support::World;
use crate::support::acts::until;
use crate::support::ran;
use std::fs;
use std::time::Duration;
use std::time::Instant;

#[test]
fn a_path_may_be_given_from_anywhere() {
    let doc = Doc::named("sub/folder/t.md", &exchange("Q?\n"));
    let root = doc.world.root();
    let absolute = doc.world.path(&doc.file);
    let mut said = "Q?\n\n".to_owned();
    for (n, (cwd, file)) in [
        ("repo", "sub/folder/t.md"),
        ("repo/sub", "folder/t.md"),
        ("repo/sub/folder", "t.md"),
        ("repo/sub/folder", "./t.md"),
        ("repo/sub/folder", "../../sub/./folder/t.md"),
        ("home", "../repo/sub/folder/t.md"),
        ("home", absolute.to_str().unwrap()),
        ("", "repo/sub/folder/t.md"),
    ]
    .into_iter()
    .enumerate()
    {
        let run = |verb: &str, input: &str| {
            let mut command = doc.world.command(&["doc", verb, file]);
            command.current_dir(root.join(cwd));
            super::fed(command, input).ok()
        };
        run("preflight", "");
        run("respond", &format!("A{n}.\n"));
        said.push_str(&format!("A{n}.\n\n"));
        doc.is(&exchange(&said));
        for verb in
            ["diff", "status", "history", "turns", "conflicts", "outline", "recover", "dedupe", "commit"]
        {
            run(verb, "");
        }
    }
    let dir = root.join("repo/sub");
    doc.world.skein(&["-C", dir.to_str().unwrap(), "doc", "show", "folder/t.md"]).ok();
}

#[test]
fn a_new_document_is_one_file_and_no_more() {
    let world = World::in_memory();
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&world.repo).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let mut before = names();
    for (args, want) in [
        (
            &["new.md"][..],
            "agent_doc_format: template\n---\n\n# new\n\n<!-- agent:exchange -->\n<!-- /agent:exchange -->\n",
        ),
        (
            &["a b.md", "A title: \"x\"", "--agent", "codex"],
            "agent_doc_format: template\nagent: codex\n---\n\n# A title: \"x\"\n\n<!-- agent:exchange -->\n<!-- /agent:exchange -->\n",
        ),
        (&["old.md", "--mode", "append"], "agent_doc_format: append\n---\n\n# old\n\n## User\n\n"),
    ] {
        world.skein(&[&["doc", "init"], args].concat()).ok();
        let text = world.read(args[0]);
        let (id, rest) = text.strip_prefix("---\nskein_doc: ").unwrap().split_once('\n').unwrap();
        assert_eq!((id.len(), rest), (26, want));
        before.push(args[0].into());
        before.sort();
        assert_eq!(names(), before);
        world.skein(&["doc", "init", args[0]]).refused("file-exists", 1);
        assert_eq!(world.read(args[0]), text);
    }
    assert_eq!(world.git(["status", "--porcelain", "-z"]), "?? a b.md\0?? new.md\0?? old.md\0");
    // Nor does a turn leave anything beside it.
    world.skein(&["doc", "preflight", "new.md"]).ok();
    super::fed(world.command(&["doc", "respond", "new.md"]), "A.\n").ok();
    assert_eq!(names(), before);
}

#[test]
fn a_patch_goes_where_it_is_said_to() {
    let log = |attrs: &str, lines: &str| {
        format!("{FRONT}# T\n\n<!-- agent:log{attrs} -->\n{lines}<!-- /agent:log -->\n")
    };
    let config = "[log]\npatch = \"append\"\nmax_entries = 3\n";
    for (config, attrs, mode, want) in [
        ("", "", None, "e2\n"),
        ("", " patch=append", None, "old\ne0\ne1\ne2\n"),
        ("", " mode=prepend", None, "e2\ne1\ne0\nold\n"),
        ("", "", Some("append"), "old\ne0\ne1\ne2\n"),
        (config, "", None, "e0\ne1\ne2\n"),
        (config, " patch=replace", None, "e2\n"),
        (config, " patch=replace", Some("prepend"), "e2\ne1\ne0\n"),
        ("[log]\nmode = \"append\"\nmax_lines = 2\n", "", None, "e1\ne2\n"),
    ] {
        let doc = Doc::new(&log(attrs, "old\n"));
        if !config.is_empty() {
            doc.world.write(".skein/components.toml", config);
        }
        doc.send();
        doc.write(&block("log", "sent")); // What was sent is known from here on.
        doc.run("turn undo", &["1"]).ok();
        assert_eq!(doc.text(), log(attrs, "old\n"));
        for n in 0..3 {
            let words = [&["log"][..], &[["e0", "e1", "e2"][n]]].concat();
            let mode: Vec<&str> = mode.map(|mode| vec!["--mode", mode]).unwrap_or_default();
            doc.run("patch", &[words, mode].concat()).ok();
        }
        assert_eq!(doc.text(), log(attrs, want), "{config:?} {attrs:?} {mode:?}");
        assert_eq!(doc.new_lines(), Vec::<String>::new());
        doc.tidy();
    }
    let doc = Doc::new(&log("", ""));
    doc.world.write(".agent-doc/components.toml", "[log]\nmode = \"append\"\ntimestamp = true\n");
    let mut command = doc.command("patch", &["log"]);
    command.env("SKEIN_CLOCK", crate::support::MOMENT.to_string());
    super::fed(command, "from standard input\n").ok();
    assert_eq!(doc.text(), log("", "2026-01-01T00:00:00Z from standard input\n"));
    // Markers that share their line get a line of their own for the text.
    let doc = Doc::new(&format!("{FRONT}Now <!-- agent:status -->x<!-- /agent:status -->!\n"));
    doc.run("patch", &["status", "y"]).ok();
    assert_eq!(doc.text(), format!("{FRONT}Now <!-- agent:status -->\ny\n<!-- /agent:status -->!\n"));
    let doc = Doc::new(&format!("{FRONT}Now <!-- agent:status -->x<!-- /agent:status -->!\n"));
    doc.send();
    doc.change("Now", "Then");
    doc.write(&block("status", "y"));
    assert_eq!(doc.text(), format!("{FRONT}Then <!-- agent:status -->\ny\n<!-- /agent:status -->!\n"));
}

fn trusted(doc: &Doc, config: &str) {
    doc.world.write(".skein/components.toml", config);
    let said = doc.run("patch", &["status", "x"]).refused("untrusted", 1);
    let digest = said.err.lines().find_map(|line| line.trim().strip_prefix("digest: ")).unwrap().to_owned();
    doc.world.git(["config", "--replace-all", "skein.trust", &digest]);
}

#[test]
fn a_command_may_change_what_is_put_in() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    trusted(&doc, "[status]\npre_patch = \"tr a-z A-Z; echo $COMPONENT in ${FILE##*/}\"\n");
    doc.run("patch", &["status", "busy\n"]).ok();
    assert_eq!(doc.text(), with_status("BUSY\nstatus in t.md\n", "Q?\n"));
    // One that reads nothing is no error, however much there is to read.
    trusted(&doc, "[status]\npre_patch = \"echo short\"\n");
    doc.fed("patch", &["status"], &"a long text\n".repeat(200_000)).ok();
    assert_eq!(doc.text(), with_status("short\n", "Q?\n"));
    // What it makes is checked like any text.
    trusted(&doc, "[status]\npre_patch = \"echo '<!-- /agent:status -->'\"\n");
    doc.run("patch", &["status", "x"]).refused("bad-answer", 1);
    assert_eq!(doc.text(), with_status("short\n", "Q?\n"));
}

#[test]
fn a_command_that_is_told_of_a_patch_is_not_waited_for() {
    let doc = Doc::new(&with_status("open\n", "Q?\n"));
    let told = doc.world.root().join("told");
    let script = format!("sleep 3; echo $COMPONENT >{}", told.display());
    trusted(&doc, &format!("[status]\npost_patch = \"{script}\"\n"));
    let started = Instant::now();
    doc.run("patch", &["status", "busy"]).ok();
    assert!(started.elapsed() < Duration::from_secs(3) && !told.exists());
    assert_eq!(doc.text(), with_status("busy\n", "Q?\n"));
    until("the command ends", || fs::read_to_string(&told).is_ok_and(|said| said == "status\n"));
    // Whatever becomes of it.
    trusted(&doc, "[status]\npost_patch = \"exit 7\"\n");
    doc.run("patch", &["status", "done"]).ok();
    assert_eq!(doc.text(), with_status("done\n", "Q?\n"));
}

#[test]
fn what_was_answered_twice_in_a_row_goes_and_nothing_else_does() {
    let fenced = "```\n### Re: A\n\none\n\n### Re: A\n\none\n```\n\n";
    let a = "### Re: A\n\none\n\n";
    let other = "### Re: A\n\ntwo\n\n";
    let doc = Doc::new(&exchange(&format!("- x\n- y\n\n- x\n- y\n\n{a}{a}{a}{other}{a}{fenced}")));
    doc.send();
    doc.run("dedupe", &[]).ok();
    let after = exchange(&format!("- x\n- y\n\n- x\n- y\n\n{a}{other}{a}{fenced}"));
    assert_eq!(doc.text(), after);
    let step = doc.step();
    let said = doc.run("dedupe", &[]).ok();
    assert!(said.out.contains("nothing to do"), "{}", said.out);
    assert_eq!((doc.text(), doc.step()), (after, step));
    doc.run("turn undo", &["2"]).ok();
    assert_eq!(doc.text(), exchange(&format!("- x\n- y\n\n- x\n- y\n\n{a}{a}{a}{other}{a}{fenced}")));
}

#[test]
fn an_agent_is_asked_and_answers_while_the_person_types() {
    let doc = Doc::new(&with_status("open\n", "What is 2+2?\n"));
    let (head, root) = (doc.world.head(), doc.world.root());
    let [prompt, go] = ["prompt", "go"].map(|name| root.join(name));
    let answer = format!("{}{}", block("status", "done"), block("exchange", "It is 4."));
    fs::write(root.join("answer"), &answer).unwrap();
    agent(
        &doc.world,
        &format!(
            "cd {}; cat \"$SKEIN_BRIEF\" >prompt; while [ ! -e go ]; do sleep 0.02; done; cat answer",
            root.display()
        ),
    );
    let dry = doc.run("run", &["--agent", "stub", "--dry-run"]).ok();
    assert_eq!((doc.step(), doc.world.head()), (String::new(), head.clone()));
    let command = doc.command("run", &["--agent", "stub"]);
    std::thread::scope(|scope| {
        let asked = scope.spawn(move || super::fed(command, ""));
        until("the agent is asked", || prompt.exists());
        doc.put(&with_status("open\n", "What is 2+2?\nAnd more.\n"));
        fs::write(&go, "").unwrap();
        asked.join().unwrap().ok();
    });
    assert_eq!(doc.text(), with_status("done\n", "What is 2+2?\n\nIt is 4.\n\nAnd more.\n"));
    assert_eq!(doc.head(), with_status("done\n", "What is 2+2?\n\nIt is 4.\n\n"));
    assert_eq!(doc.world.rev("HEAD^"), head);
    assert_eq!(doc.new_lines(), ["+And more."]);
    // What was sent is on record to the byte, and it is what was shown.
    let asked = doc.blob(&format!("refs/skein/doc/{}:turns/0/01/prompt", super::ID));
    assert_eq!(dry.out, asked);
    assert!(fs::read_to_string(&prompt).unwrap().contains(asked.trim_end()));
    assert_eq!(doc.blob(&format!("refs/skein/doc/{}:turns/0/01/response", super::ID)).trim(), answer.trim());
    let turn = doc.run("turn show", &["1", "--json"]).ok().json()["result"].clone();
    assert_eq!((&turn["agent"], &turn["origin"]), (&"stub".into(), &"run".into()));
    doc.tidy();
    // Nothing new: nobody is asked.
    doc.put(&doc.head());
    fs::remove_file(&prompt).unwrap();
    let said = doc.run("run", &["--agent", "stub"]).ok();
    assert!(said.out.contains("nothing is new") && !prompt.exists(), "{}", said.out);
}

/// Of a file that changes while an agent without a jail works nobody knows who it was, but of the document.
#[test]
fn what_changes_beside_the_document_while_an_agent_works() {
    let asked = |doc: &Doc, script: &str, started: &dyn Fn() -> bool, jail: &[&str], change: &dyn Fn()| {
        agent(&doc.world, script);
        let command = doc.command("run", &[&["--agent", "stub"], jail].concat());
        std::thread::scope(|scope| {
            let asked = scope.spawn(move || super::fed(command, ""));
            until("the agent is asked", started);
            change();
            asked.join().unwrap()
        })
    };
    let begin = |world: World| {
        let doc = Doc::in_world(world, "notes/t.md");
        doc.put(&exchange("Q?\n"));
        doc.world.commit("the document");
        doc
    };
    for (file, good) in [
        ("notes/.t.md.swp", true),
        ("notes/t.md~", true),
        ("b.txt", false),
        ("notes/not.md", false),
        ("t.md", false),
    ] {
        let doc = begin(World::in_memory());
        let root = doc.world.root();
        let script =
            format!("cd {}; touch began; while [ ! -e go ]; do sleep 0.02; done; echo A.", root.display());
        let change = || {
            doc.world.write(file, "mine\n");
            fs::write(root.join("go"), "").unwrap();
        };
        let ran = asked(&doc, &script, &|| root.join("began").exists(), &[], &change);
        if good {
            ran.ok();
            assert_eq!(doc.text(), exchange("Q?\n\nA.\n\n"));
        } else {
            ran.refused("no-answer", 1);
            assert_eq!(doc.text(), exchange("Q?\n"));
        }
    }
    if !crate::jail::possible() {
        return;
    }
    let doc = begin(World::new());
    let is_asked = || !doc.world.git(["for-each-ref", "refs/skein/worker"]).is_empty();
    let change = || {
        std::thread::sleep(Duration::from_millis(500));
        doc.world.write("b.txt", "mine\n");
    };
    asked(&doc, "sleep 2; echo A.", &is_asked, &["--jail", "bwrap"], &change).ok();
    assert_eq!(doc.text(), exchange("Q?\n\nA.\n\n"));
    assert_eq!(doc.world.read("b.txt"), "mine\n");
}

#[test]
fn an_answer_may_be_left_uncommitted_or_go_to_a_branch_of_its_own() {
    let doc = Doc::new(&exchange("Q?\n"));
    agent(&doc.world, "echo A.");
    let head = doc.world.head();
    doc.run("run", &["--agent", "stub", "--no-git"]).ok();
    assert_eq!((doc.text(), doc.world.head()), (exchange("Q?\n\nA.\n\n"), head.clone()));
    doc.put(&exchange("Q?\n\nA.\n\nMore?\n"));
    doc.run("run", &["--agent", "stub", "-b"]).ok();
    assert_eq!(doc.world.git(["branch", "--show-current"]), "skein-doc/doc-t");
    assert_eq!(doc.world.rev("main"), head);
    doc.is(&exchange("Q?\n\nA.\n\nMore?\n\nA.\n\n"));
}

#[test]
fn who_answers_is_asked_for_or_in_the_front_matter_or_configured() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.run("run", &["--agent", "nobody"]).refused("agent-not-found", 1);
    doc.world.git(["config", "skein.agent", "nobody"]);
    doc.run("run", &[]).refused("agent-not-found", 1);
    assert_eq!((doc.text(), doc.step()), (exchange("Q?\n"), String::new()));
    let front = |text: String| text.replacen("\n---\n", "\nagent: stub\nmodel: m-1\n---\n", 1);
    doc.put(&front(exchange("Q?\n")));
    agent(&doc.world, "echo A.");
    doc.run("run", &[]).ok();
    doc.is(&front(exchange("Q?\n\nA.\n\n")));
    let message = doc.world.git(["log", "-1", "--format=%B"]);
    assert!(message.contains("Skein-Agent: stub\nSkein-Model: m-1"), "{message}");
}

/// What a worker commits, adds, renames, makes executable and leaves lying about is in its delta, to be landed; the
/// document gets a word on each, as often as it is asked.
#[test]
fn tasks_go_to_workers_and_word_of_them_comes_back() {
    let tasks =
        "- [ ] commit two\n- [ ] leave it dirty\n- [ ] fail here\n- [ ] do nothing\n- [x] long done\n";
    let with_tasks = |said: &str| exchange(said).replace("# T\n", &format!("# T\n\n{tasks}"));
    let doc = Doc::new(&with_tasks(""));
    let script = "case \"$(head -n 40 \"$SKEIN_BRIEF\")\" in \
        *'commit two'*) echo one >one.txt; git add one.txt; git commit -qm one; git mv b.txt c.txt; chmod +x a.txt; git commit -qam two;; \
        *'leave it dirty'*) echo new >new.txt; echo more >>a.txt;; \
        *'fail here'*) echo half >half.txt; exit 3;; \
        *) true;; esac";
    let head = doc.world.head();
    let rows = |said: &crate::support::Ran| -> Vec<(String, serde_json::Value)> {
        let tasks = said.json()["result"]["tasks"].clone();
        let row =
            |task: &serde_json::Value| (task["text"].as_str().unwrap().to_owned(), task["paths"].clone());
        tasks.as_array().unwrap().iter().map(row).collect()
    };
    let dry = doc.run("fanout", &["--dry-run", "--json"]).ok();
    assert_eq!(rows(&dry).len(), 4);
    assert_eq!(doc.step(), "");
    let said = doc.run("fanout", &["--json", "--", "sh", "-c", script]).code(1);
    let null = serde_json::Value::Null;
    let want = [
        ("commit two", 4.into()),
        ("leave it dirty", 2.into()),
        ("fail here", null.clone()),
        ("do nothing", null),
    ]
    .map(|(text, paths)| (text.to_owned(), paths));
    assert_eq!(rows(&said), want);
    let handles: Vec<String> = said.json()["result"]["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["handle"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(doc.world.head(), head, "nothing is landed");
    let text = doc.text();
    let [two, dirty, failed, nothing] = handles.try_into().unwrap();
    let report = format!(
        "### Re: commit two\n\n{two} has changed 4 files: `git skein show --diff {two}`, `git skein land {two}`\n\n\
         ### Re: leave it dirty\n\n{dirty} has changed 2 files: `git skein show --diff {dirty}`, `git skein land {dirty}`\n\n\
         ### Re: fail here\n\n{failed} has no work to show, it is failed: `git skein show --log {failed}`\n\n\
         ### Re: do nothing\n\n{nothing} has no work to show, empty: do-nothing changed nothing: `git skein show --log {nothing}`\n\n"
    );
    assert_eq!(text, with_tasks(&report));
    assert_eq!(doc.world.git(["worktree", "list"]).lines().count(), 5);
    // What they have made can be landed to the byte.
    doc.world.skein(&["land", &two]).ok();
    doc.world.skein(&["land", &dirty]).ok();
    assert_eq!(doc.blob("HEAD:new.txt"), "new\n");
    assert_eq!(doc.blob("HEAD:one.txt"), "one\n");
    assert!(doc.world.git(["ls-tree", "HEAD", "a.txt"]).starts_with("100755"));
    assert!(doc.blob("HEAD:a.txt").ends_with("line 9\nmore\n"));
    // Again on the same document.
    let again = "echo again >again.txt; git add again.txt; git commit -qm again".to_owned();
    let said = doc.run("fanout", &["--json", "--", "sh", "-c", &again]).ok();
    assert_eq!(rows(&said).len(), 4);
    assert_eq!(doc.text().matches("### Re: commit two\n").count(), 2);
    let said = doc.run("fanout", &["--", "/no/such/program"]).code(1);
    assert!(said.out.contains("commit two"), "{said:?}");
    doc.world.skein(&["doc", "init", "none.md"]).ok();
    doc.world.skein(&["doc", "fanout", "none.md", "--", "true"]).refused("no-task", 1);
}

#[test]
fn sections_are_listed_with_their_lines() {
    let text = format!("{FRONT}# One\n\ntext\n\nTwo\n---\n\n```\n# no heading\n```\n\n### Three é\n\nlast");
    let doc = Doc::new(&text);
    let sections = doc.run("outline", &["--json"]).ok().json()["result"]["sections"].clone();
    let rows: Vec<String> = sections
        .as_array()
        .unwrap()
        .iter()
        .map(|s| format!("{} {} {} {}", s["heading"].as_str().unwrap(), s["depth"], s["line"], s["lines"]))
        .collect();
    assert_eq!(rows, ["One 1 4 3", "Two 2 8 5", "Three é 3 15 2"]);
}

#[test]
fn what_is_known_can_be_read_and_hashed_again() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.run("show", &[]).code(1);
    doc.send();
    doc.respond("A.\n");
    assert_eq!(doc.run("show", &[]).ok().out, exchange("Q?\n\nA.\n\n"));
    let said = doc.run("show", &["--verify", "--json"]).ok().json()["result"].clone();
    assert_eq!(said["oid"], doc.world.rev(&format!("refs/skein/doc/{}:text", super::ID)));
    let blobs = doc.world.git(["ls-tree", "-r", &format!("refs/skein/doc/{}", super::ID)]);
    assert_eq!(said["verified"], blobs.lines().count());
}

#[test]
fn a_document_goes_on_in_another_from_an_older_turn() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    doc.respond("A.\n");
    let after = doc.text();
    doc.send_after(&exchange("Q?\n\nA.\n\nMore?\n"));
    doc.respond("B.\n");
    let (whole, step) = (doc.text(), doc.step());
    doc.run("turn fork", &["1", "fork.md"]).ok();
    doc.run("turn fork", &["1", "fork.md"]).refused("file-exists", 1);
    let fork = doc.world.read("fork.md");
    let id = fork.lines().find_map(|line| line.strip_prefix("skein_doc: ")).unwrap().to_owned();
    assert_ne!(id, super::ID);
    assert_eq!(fork.replace(&id, super::ID), after);
    assert_eq!(doc.text(), whole);
    assert!(doc.step().contains(&step));
    let sent = doc.world.skein(&["doc", "preflight", "fork.md"]).ok().json()["result"].clone();
    assert_eq!(sent["no_changes"], true, "{sent}");
    doc.world.write("fork.md", &fork.replace("A.\n\n", "A.\n\nOther?\n"));
    doc.world.skein(&["doc", "preflight", "fork.md"]).ok();
    super::fed(doc.world.command(&["doc", "respond", "fork.md"]), "C.\n").ok();
    assert_eq!(doc.world.read("fork.md"), fork.replace("A.\n\n", "A.\n\nOther?\n\nC.\n\n"));
    assert_eq!(doc.blob("HEAD:fork.md"), doc.world.read("fork.md"));
    let turns =
        doc.world.skein(&["doc", "turns", "fork.md", "--json"]).ok().json()["result"]["turns"].clone();
    assert_eq!(turns.as_array().unwrap().len(), 2);
    assert_eq!(doc.text(), whole);
}

/// A document of the other tool is taken as it is.
#[test]
fn the_identity_of_another_tool_is_one() {
    let front = "---\nagent_doc_session: 0192e4a1-7b2c-7def-8a90-1234567890ab\nagent_doc_mode: append\n---\n";
    let doc = Doc::new(&format!("{front}## User\n\nQ?\n"));
    doc.send();
    doc.respond("A.\n");
    let after = format!("{front}## User\n\nQ?\n\n## Assistant\n\nA.\n\n## User\n\n");
    assert_eq!((doc.text(), doc.head()), (after.clone(), after.clone()));
    // Claimed, it is the same document still.
    let turns = doc.run("turns", &["--json"]).ok().json()["result"].clone();
    let made = doc.run("claim", &["--json"]).ok().json()["result"].clone();
    assert_eq!(made["doc"], turns["doc"]);
    assert_eq!(doc.run("turns", &["--json"]).ok().json()["result"], turns);
    let line = format!("append\nskein_doc: {}\n", made["doc"].as_str().unwrap());
    assert_eq!(doc.text(), after.replace("append\n", &line));
}

#[test]
fn a_difference_may_be_asked_for_by_exit_code() {
    let doc = Doc::new(&exchange("Q?\n<!-- a note -->\n"));
    doc.run("diff", &["--exit-code"]).code(1);
    doc.run("diff", &[]).ok();
    doc.send();
    doc.respond("A.\n");
    assert_eq!(doc.run("diff", &["--exit-code"]).ok().out, "");
    doc.change("a note", "another note");
    let said = doc.run("diff", &["--exit-code"]).code(1).out;
    assert_eq!(
        said,
        format!(
            "--- sent\n+++ t.md\n@@ -4,7 +4,7 @@\n # T\n \n <!-- agent:exchange -->\n Q?\n-<!-- a note -->\n+<!-- another note -->\n \n A.\n \n{}",
            ""
        )
        .replace("@@ -4,7 +4,7 @@\n #", "@@ -3,10 +3,10 @@\n ---\n #")
            + " <!-- /agent:exchange -->\n"
    );
    doc.run("diff", &["--exit-code", "--no-comments"]).ok();
    assert_eq!(doc.preflight()["no_changes"], true);
}

/// Several answers at once, of which some come by hand: a file that may not be written keeps its bytes.
#[test]
fn a_file_that_may_not_be_written_is_refused() {
    let doc = Doc::new(&exchange("Q?\n"));
    doc.send();
    let path = doc.world.path("t.md");
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o444)).unwrap();
    let step = doc.step();
    doc.fed("write", &[], "A.\n").refused("read-only", 128);
    assert_eq!((doc.text(), doc.step()), (exchange("Q?\n"), step));
    doc.tidy();
    fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let mut command = doc.command("respond", &["--json"]);
    command.stdin(std::process::Stdio::null());
    ran(command.output().unwrap()).code(1);
    doc.respond("A.\n");
    doc.is(&exchange("Q?\n\nA.\n\n"));
}
