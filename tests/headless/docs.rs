//! The page on pipelines and the action of this repository: what they say is done here.

use crate::readme::blocks;
use crate::readme::read;
use crate::readme::shell;
use crate::support::World;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

/// A bare server with a task for each job, the tools that the page names, and clones made as runners do.
struct Pipeline {
    world: World,
    tools: PathBuf,
}

impl Pipeline {
    fn new() -> Pipeline {
        let world = World::new();
        for task in ["login", "search"] {
            world.write(&format!("tasks/{task}.md"), &format!("Do {task}\n"));
        }
        world.commit("tasks");
        world.git(["clone", "--quiet", "--bare", ".", "../server"]);
        let tools = world.root().join("tools");
        fs::create_dir(&tools).unwrap();
        let agent = "read -r task && name=${task#Do } && echo done >$name.txt && git add . && git commit -qm \"$task\"";
        for (name, script) in [("my-agent", agent), ("make", "test -f login.txt || test -f search.txt")] {
            fs::write(tools.join(name), format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(tools.join(name), fs::Permissions::from_mode(0o755)).unwrap();
        }
        Pipeline { world, tools }
    }

    /// A checkout of one commit on branch `main`, as of `actions/checkout`, or on none. Commands run there from now on.
    fn checkout(&mut self, name: &str, branch: bool) {
        self.world.cwd = self.world.root().join(name);
        fs::create_dir(&self.world.cwd).unwrap();
        let url = format!("file://{}", self.world.root().join("server").display());
        self.world.git(["init", "--quiet", "--template="]);
        self.world.git(["remote", "add", "origin", &url]);
        self.world.git([
            "fetch",
            "--quiet",
            "--depth=1",
            "origin",
            "+refs/heads/main:refs/remotes/origin/main",
        ]);
        match branch {
            true => self.world.git(["checkout", "--quiet", "-B", "main", "origin/main"]),
            false => self.world.git(["checkout", "--quiet", "--detach", "origin/main"]),
        };
    }

    fn run(&self, script: &str) -> String {
        shell(&self.world, script, &[&self.tools]).ok().out
    }

    fn landed(&self) -> String {
        self.world.git(["--git-dir", "../server", "ls-tree", "--name-only", "main"])
    }
}

const LANDED: &str = ".gitignore\na.txt\nb.txt\nlogin.txt\nsearch.txt\ntasks";

#[test]
fn the_commands_of_the_page_land_what_jobs_have_made() {
    let page = read("docs/ci.md");
    let [person, ..] = &blocks(&page, "In a pipeline", "sh")[..] else { panic!("no block") };
    let [work, land] = &blocks(&page, "One job for each task, one that lands", "sh")[..] else {
        panic!("two blocks")
    };
    let mut pipeline = Pipeline::new();
    for task in ["search", "login"] {
        pipeline.checkout(task, task == "login");
        pipeline.run(&format!("{person}\nTASK={task}\n{work}"));
    }
    pipeline.checkout("last", true);
    pipeline.run(&format!("{person}\n{land}"));
    assert_eq!(pipeline.landed(), LANDED);
    assert!(pipeline.world.cwd.join("results.xml").is_file());
    // The next run finds nothing to do.
    let [fetch] = &blocks(&page, "Clones that are cut off", "sh")[..] else { panic!("one block") };
    pipeline.checkout("next", true);
    let said = pipeline.run(&format!("{person}\n{fetch}\n{land}"));
    assert!(said.contains("not login: it has landed already") && said.contains("not search:"), "{said}");
}

fn parsed(text: &str) -> Value {
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn the_workflow_and_the_action_do_the_same() {
    let workflow = parsed(&blocks(&read("docs/ci.md"), "GitHub Actions", "yaml")[0]);
    let action = parsed(&read(".github/actions/land/action.yml"));
    let steps = &workflow["jobs"]["work"]["steps"];
    let work = steps[2]["run"].as_str().unwrap();
    assert_eq!(steps[2]["env"]["TASK"], "${{ matrix.task }}");
    let last = workflow["jobs"]["land"]["steps"][2].clone();
    assert_eq!(
        (&workflow["jobs"]["land"]["needs"], &last["uses"]),
        (&"work".into(), &"./.github/actions/land".into())
    );
    for input in last["with"].as_object().unwrap().keys() {
        assert!(action["inputs"].get(input).is_some(), "{input}");
    }
    assert_eq!(action["runs"]["using"], "composite");
    let step = &action["runs"]["steps"][0];
    let script = step["run"].as_str().unwrap();
    assert!(!script.contains("${{"), "what others write is no part of a script");
    let mut pipeline = Pipeline::new();
    for task in ["login", "search"] {
        pipeline.checkout(task, true);
        pipeline.run(&format!("TASK={task}\n{work}"));
    }
    for (name, branch) in [("last", false), ("again", true)] {
        pipeline.checkout(name, branch);
        let output = pipeline.world.cwd.join("output");
        let mut env = format!("export GITHUB_ACTIONS=true GITHUB_OUTPUT='{}'\n", output.display());
        for (variable, input) in step["env"].as_object().unwrap() {
            let input = input.as_str().unwrap().trim_start_matches("${{ inputs.").trim_end_matches(" }}");
            let given = last["with"].get(input).unwrap_or(&action["inputs"][input]["default"]);
            env.push_str(&format!("export {variable}='{}'\n", given.as_str().unwrap()));
        }
        let said = pipeline.run(&format!("{env}{script}"));
        assert_eq!(fs::read_to_string(output).unwrap(), "code=0\n", "{said}");
        assert_eq!(pipeline.landed(), LANDED, "{said}");
    }
}
