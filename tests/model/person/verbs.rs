//! What the orchestrators do, one to three of them at once.

use super::Act;
use super::scene::DOC;
use super::scene::Scene;
use std::path::PathBuf;

const fn act(name: &'static str, weight: u64, run: fn(&mut Scene, u64) -> Result<(), String>) -> Act {
    Act { name, weight, run }
}

pub const ACTS: &[Act] = &[
    act("dispatch", 8, dispatch),
    act("import", 4, |s, n| said(s, &["import", "{}"], n)),
    act("accept", 2, |s, n| said(s, &["verdict", "{}", "accept"], n)),
    act("reject", 1, |s, n| said(s, &["verdict", "{}", "reject", "-m", "not so"], n)),
    act("land", 10, land),
    act("landbranch", 2, |s, n| said(s, &["land", ["topic", "spare"][n as usize % 2]], n)),
    act("landall", 3, |s, n| said(s, &["land", "--all"], n)),
    act("landserver", 2, |s, n| said(s, &["land", "{}", "--onto", "origin/main"], n)),
    act("undo", 3, |s, n| said(s, &["undo"], n)),
    act("reap", 3, reap),
    act("restore", 3, restore),
    act("docsend", 2, |s, _| s.doc("preflight", "")),
    act("docwrite", 3, docwrite),
    act("doccommit", 3, |s, _| s.doc("commit", "")),
    act("sync", 3, |s, n| said(s, &["sync"], n)),
    act("status", 2, |s, n| said(s, &["status"], n)),
    act("show", 1, |s, n| said(s, &["show", "{}"], n)),
    act("doctor", 1, |s, n| said(s, &["doctor", "--fix"], n)),
    act("fsck", 1, fsck),
    act("both", 6, both),
    act("odispatch", 1, odispatch),
    act("oland", 1, oland),
    act("osync", 1, |s, _| s.other(&["sync"]).map(drop)),
];

/// The work of a worker: one of several kinds, with words of its own.
fn script(scene: &mut Scene, n: u64) -> String {
    let word = scene.word();
    let line = n / 8 % 9 + 1;
    let work = match n % 8 {
        0 => format!("sed -i '{line}s/.*/{word}/' a.txt"),
        1 => format!("echo {word} > new{line}.txt"),
        2 => format!("echo {word} >> b.txt; git commit -qam one; echo {word} > left.txt; exit 0"),
        3 => format!("git mv c.txt {word}.txt && sed -i '{line}s/.*/{word}/' {word}.txt"),
        4 => format!("chmod +x a.txt; printf '{word}\\0' > data.bin"),
        5 => "git rm -q d/d.txt || echo gone >> b.txt".to_owned(),
        6 => return "exit 0".to_owned(),
        _ => format!(
            "echo {word} > two.txt; git add -A; git commit -qm one; sed -i '{line}s/.*/{word}/' a.txt; \
             git commit -qam two; echo {word} >> b.txt; echo {word} > x.ign; exit 0"
        ),
    };
    format!("{work}; git add -A; git commit -qm '{word}'; true")
}

fn dispatch(scene: &mut Scene, n: u64) -> Result<(), String> {
    let (script, name) = (script(scene, n), format!("w{}", scene.word()));
    let ran = scene.verb(&["dispatch", "--wait", "--name", &name, "task", "--", "sh", "-c", &script])?;
    // It may have been refused; then there is no such worker.
    if ran.json().get("error").is_none() {
        let place = scene.world.root().join("repo.skein").join(&name);
        scene.workers.push((name, place));
    }
    Ok(())
}

/// One verb on the worker that the number names.
fn said(scene: &mut Scene, words: &[&str], n: u64) -> Result<(), String> {
    let name = scene.any(n);
    let words: Vec<&str> = words.iter().map(|w| if *w == "{}" { name.as_str() } else { w }).collect();
    scene.verb(&words).map(drop)
}

fn land(scene: &mut Scene, n: u64) -> Result<(), String> {
    let more: &[&str] = match n / 16 % 8 {
        0 => &["--squash"],
        1 => &["--uncommitted"],
        2 => &["--onto", "topic"],
        3 => &["--any-outcome"],
        4 => &["--gate", "true"],
        _ => &[],
    };
    said(scene, &[&["land", "{}"], more].concat(), n)
}

fn reap(scene: &mut Scene, n: u64) -> Result<(), String> {
    match n / 16 % 4 {
        0 => said(scene, &["reap", "--yes", "--all"], n),
        1 => said(scene, &["reap", "--yes", "{}", "--include-unlanded", "--include-ignored"], n),
        2 => said(scene, &["reap", "{}"], n),
        _ => said(scene, &["reap", "--yes", "{}"], n),
    }
}

fn restore(scene: &mut Scene, n: u64) -> Result<(), String> {
    let name = scene.any(n);
    let ran = scene.verb(&["restore", &name])?;
    let said = ran.json();
    if let (Some(place), false) = (said["result"]["worktree"].as_str(), said["result"]["copy"] == true) {
        scene.workers.iter_mut().filter(|w| w.0 == name).for_each(|w| w.1 = PathBuf::from(place));
    }
    Ok(())
}

fn docwrite(scene: &mut Scene, _: u64) -> Result<(), String> {
    let answer = format!("{} answered\n", scene.word());
    scene.doc("write", &answer)?;
    match scene.world.path(DOC).exists() {
        true => Ok(()),
        // Another branch is checked out, or somebody put it aside.
        false => scene.verb(&["status"]).map(drop),
    }
}

fn fsck(scene: &mut Scene, _: u64) -> Result<(), String> {
    let ran = scene.verb(&["fsck"])?;
    if ran.code == 0 { Ok(()) } else { Err(format!("not sound: {ran:?}")) }
}

/// Two or three verbs at once.
fn both(scene: &mut Scene, n: u64) -> Result<(), String> {
    let choice = |scene: &Scene, n: u64| -> Vec<String> {
        let name = scene.any(n / 9);
        let words: &[&str] = match n % 9 {
            0..=2 => &["land", "{}"],
            3 => &["import", "{}"],
            4 => &["reap", "--yes", "{}"],
            5 => &["land", "--all"],
            6 => &["restore", "{}"],
            7 => &["verdict", "{}", "accept"],
            _ => &["fsck"],
        };
        words.iter().map(|w| w.replace("{}", &name)).collect()
    };
    let mut verbs = vec![choice(scene, n), choice(scene, n / 9 + 1)];
    if n.is_multiple_of(3) {
        verbs.push(choice(scene, n / 27 + 2));
    }
    scene.tool(&verbs).map(drop)
}

/// A worker of the other clone, whose work comes over by way of the server.
fn odispatch(scene: &mut Scene, n: u64) -> Result<(), String> {
    let (script, name) = (script(scene, n), format!("o{}", scene.word()));
    let ran = scene.other(&["dispatch", "--wait", "--name", &name, "task", "--", "sh", "-c", &script])?;
    if ran.json().get("error").is_none() {
        scene.other(&["import", &name])?;
        scene.other(&["sync"])?;
        scene.foreign.push(name);
    }
    Ok(())
}

fn oland(scene: &mut Scene, n: u64) -> Result<(), String> {
    let len = scene.foreign.len() as u64;
    if len == 0 {
        return Ok(());
    }
    let name = scene.foreign[(n % len) as usize].clone();
    scene.other(&["land", &name, "--onto", "origin/main"]).map(drop)
}
