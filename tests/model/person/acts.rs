//! What a person does, by plain git and an editor. Git may refuse; then nothing was done.

use super::Act;
use super::scene::DOC;
use super::scene::Scene;
use std::fs;
use std::path::Path;

const fn act(name: &'static str, weight: u64, run: fn(&mut Scene, u64) -> Result<(), String>) -> Act {
    Act { name, weight, run }
}

pub const ACTS: &[Act] = &[
    act("commit", 6, commit),
    act("amend", 2, |s, _| git(s, &["commit", "-q", "--amend", "--allow-empty", "-m", "amended"])),
    act("rebase", 2, rebase),
    act("merge", 3, merge),
    act("topic", 3, topic),
    act("force", 2, force),
    act("switch", 3, |s, n| git(s, &["switch", "-q", ["main", "topic", "main", "spare"][n as usize % 4]])),
    act("dirty", 5, dirty),
    act("stage", 2, |s, n| git(s, if n % 2 == 0 { &["add", "-A"] } else { &["add", "a.txt"] })),
    act("stash", 2, |s, n| git(s, if n % 2 == 0 { &["stash", "-q"] } else { &["stash", "-q", "-u"] })),
    act("pop", 2, |s, _| tidied(s, &["stash", "pop", "-q"])),
    act("type", 3, type_on),
    act("rmtree", 2, rmtree),
    act("movetree", 2, movetree),
    act("prune", 2, |s, n| {
        git(s, if n % 2 == 0 { &["worktree", "prune"] } else { &["worktree", "prune", "--expire=now"] })
    }),
    act("rmbranch", 1, |s, n| git(s, &["branch", "-q", "-D", ["topic", "spare"][n as usize % 2]])),
    act("gc", 2, gc),
    act("packrefs", 1, |s, _| git(s, &["pack-refs", "--all"])),
    act("pushforce", 1, |s, _| git(s, &["push", "-q", "--force", "origin", "main"])),
    act("fetch", 1, |s, _| git(s, &["fetch", "-q"])),
    act("wcommit", 5, |s, n| worker(s, n, true)),
    act("wdirty", 3, |s, n| worker(s, n, false)),
    act("clock", 3, clock),
];

fn git(scene: &mut Scene, args: &[&str]) -> Result<(), String> {
    scene.git(args);
    Ok(())
}

/// The same; what conflicts is given up.
fn tidied(scene: &mut Scene, args: &[&str]) -> Result<(), String> {
    if !scene.git(args) {
        for operation in ["merge", "rebase"] {
            scene.git(&[operation, "--abort"]);
        }
        if !scene.world.git(["ls-files", "--unmerged"]).is_empty() {
            scene.git(&["reset", "-q", "--hard"]);
        }
    }
    Ok(())
}

/// Writes a word into line `n` of a file.
fn write(scene: &mut Scene, folder: &Path, file: &str, n: u64) {
    let word = scene.word();
    let text = fs::read_to_string(folder.join(file)).unwrap_or_default();
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    match n as usize % 10 {
        at if at < lines.len() => lines[at] = format!("{word} at {at}"),
        _ => lines.push(format!("{word} more")),
    }
    fs::create_dir_all(folder.join(file).parent().unwrap()).unwrap();
    fs::write(folder.join(file), lines.join("\n") + "\n").unwrap();
}

fn commit(scene: &mut Scene, n: u64) -> Result<(), String> {
    let file = ["a.txt", "b.txt", "c.txt", "d/d.txt", "mine.txt"][n as usize % 5];
    let folder = scene.world.repo.clone();
    write(scene, &folder, file, n / 5);
    scene.git(&["add", file]);
    git(scene, &["commit", "-q", "-m", "by hand", "--", file])
}

fn rebase(scene: &mut Scene, n: u64) -> Result<(), String> {
    tidied(
        scene,
        if n.is_multiple_of(2) { &["rebase", "-q", "main", "topic"] } else { &["rebase", "-q", "topic"] },
    )
}

fn merge(scene: &mut Scene, n: u64) -> Result<(), String> {
    let how = ["--no-ff", "--no-edit", "--squash"][n as usize % 3];
    tidied(scene, &["merge", "-q", how, ["topic", "main"][n as usize / 3 % 2]])
}

/// Work on a branch of the person's, as if from another folder.
fn topic(scene: &mut Scene, n: u64) -> Result<(), String> {
    let name = ["topic", "spare"][n as usize % 2];
    scene.git(&["branch", name, "main"]);
    let place = scene.world.root().join(format!("by-hand-{name}"));
    let path = place.display().to_string();
    if scene.git(&["worktree", "add", "-q", &path, name]) {
        let file = ["a.txt", "own.txt"][n as usize / 2 % 2];
        write(scene, &place, file, n / 4);
        scene.git(&["-C", &path, "add", file]);
        scene.git(&["-C", &path, "commit", "-q", "-m", "on a branch"]);
        scene.git(&["worktree", "remove", "--force", &path]);
    }
    Ok(())
}

fn force(scene: &mut Scene, n: u64) -> Result<(), String> {
    match n % 4 {
        0 => git(scene, &["reset", "-q", "--hard", "HEAD~1"]),
        1 => git(scene, &["reset", "-q", "--keep", "HEAD~1"]),
        2 => git(scene, &["branch", "-q", "-f", "main", "main~1"]),
        _ => git(scene, &["branch", "-q", "-f", "topic", "main"]),
    }
}

fn dirty(scene: &mut Scene, n: u64) -> Result<(), String> {
    let file = ["a.txt", "c.txt", "free.txt", "x.ign", "new1.txt", "d/d.txt"][n as usize % 6];
    let folder = scene.world.repo.clone();
    write(scene, &folder, file, n / 6);
    Ok(())
}

/// A line in the document, in the exchange.
fn type_on(scene: &mut Scene, _: u64) -> Result<(), String> {
    let path = scene.world.path(DOC);
    if let Ok(text) = fs::read_to_string(&path) {
        let line = format!("{} typed\n<!-- /agent:exchange -->", scene.word());
        fs::write(path, text.replacen("<!-- /agent:exchange -->", &line, 1)).unwrap();
    }
    Ok(())
}

fn rmtree(scene: &mut Scene, n: u64) -> Result<(), String> {
    if let Some((_, place)) = scene.place(n) {
        let _ = fs::remove_dir_all(place);
    }
    Ok(())
}

fn movetree(scene: &mut Scene, n: u64) -> Result<(), String> {
    let Some((name, place)) = scene.place(n) else { return Ok(()) };
    let to = scene.world.root().join(format!("moved-{}", scene.word()));
    let (from, path) = (place.display().to_string(), to.display().to_string());
    if scene.git(&["worktree", "move", "-f", "-f", &from, &path]) {
        scene.workers.iter_mut().filter(|w| w.0 == name).for_each(|w| w.1.clone_from(&to));
    }
    Ok(())
}

fn gc(scene: &mut Scene, n: u64) -> Result<(), String> {
    if n.is_multiple_of(2) {
        // What only a log keeps goes with it, as the person wants it.
        scene.git(&["reflog", "expire", "--expire=now", "--expire-unreachable=now", "--all"]);
    }
    git(scene, &["gc", "-q", "--prune=now"])
}

/// Somebody goes on in the worktree of a worker whose agent has ended.
fn worker(scene: &mut Scene, n: u64, commits: bool) -> Result<(), String> {
    let Some((name, place)) = scene.place(n) else { return Ok(()) };
    if !place.join(".git").exists() {
        return Ok(());
    }
    let file =
        ["a.txt".to_owned(), format!("{name}-{}.txt", n / 7 % 3), "c.txt".to_owned()][n as usize % 3].clone();
    write(scene, &place, &file, n / 3);
    if commits {
        let path = place.display().to_string();
        scene.git(&["-C", &path, "add", "-A"]);
        scene.git(&["-C", &path, "commit", "-q", "-m", "more of it"]);
    }
    Ok(())
}

fn clock(scene: &mut Scene, n: u64) -> Result<(), String> {
    const DAY: u64 = 86_400_000;
    let by = [1, 60_000, DAY, 3650 * DAY][n as usize % 4];
    scene.now = if (n / 4).is_multiple_of(2) { scene.now + by } else { scene.now.saturating_sub(by) };
    Ok(())
}
