//! Records for scripts: their form, what docs/porcelain.md says of them, and hostile names on their way.

use crate::support::Ran;
use crate::support::World;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// What the document says: for each tag of a section how many fields there are and whether the last is text.
fn documented() -> BTreeMap<(String, String), (usize, bool)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/porcelain.md");
    let doc = fs::read_to_string(path).unwrap();
    let mut found = BTreeMap::new();
    for part in doc.split("\n## Of ").skip(1) {
        let verbs: Vec<&str> = part.lines().next().unwrap().split('`').skip(1).step_by(2).collect();
        for line in part.lines().filter(|l| l.starts_with("| `")) {
            let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
            let tag = cells[0].trim_matches('`').to_owned();
            let fields = cells[1].parse().unwrap();
            for verb in &verbs {
                found.insert(((*verb).to_owned(), tag.clone()), (fields, cells[3] == "yes"));
            }
        }
    }
    assert!(found.len() > 25, "{found:?}");
    found
}

/// The records that a command prints with `-z`, each as tag and fields, by what the document says.
fn records(world: &World, args: &[&str], codes: &[i32]) -> Vec<Vec<Vec<u8>>> {
    let documented = documented();
    let output = world.command(&[args, &["-z"]].concat()).output().unwrap();
    assert!(codes.contains(&output.status.code().unwrap()), "{args:?}: {output:?}");
    let mut found = Vec::new();
    for record in output.stdout.split_inclusive(|b| *b == 0) {
        let record = record.strip_suffix(b"\0").expect("NUL ends each record");
        let tag = String::from_utf8(record.split(|b| *b == b'\t').next().unwrap().to_vec()).unwrap();
        let known = documented.get(&(args[0].to_owned(), tag.clone()));
        let (fields, text) = *known.unwrap_or_else(|| panic!("{args:?}: {tag} is not documented"));
        let parts: Vec<Vec<u8>> = record.splitn(fields + 1, |b| *b == b'\t').map(<[u8]>::to_vec).collect();
        assert_eq!(parts.len(), fields + 1, "{args:?} {tag}: {}", String::from_utf8_lossy(record));
        let words = if text { &parts[..fields] } else { &parts[..] };
        for word in words {
            assert!(!word.is_empty() && word.iter().all(|b| b.is_ascii_graphic()), "{tag}: {word:?}");
        }
        found.push(parts);
    }
    found
}

/// git's quoting undone.
fn unquoted(field: &[u8]) -> Vec<u8> {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|f| f.strip_suffix(b"\"")) else {
        return field.to_vec();
    };
    let mut out = Vec::new();
    let mut bytes = inner.iter().copied();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        out.push(match bytes.next().unwrap() {
            b'a' => 7,
            b'b' => 8,
            b't' => b'\t',
            b'n' => b'\n',
            b'v' => 11,
            b'f' => 12,
            b'r' => b'\r',
            digit @ b'0'..=b'3' => {
                let mut next = || u32::from(bytes.next().unwrap() - b'0');
                (u32::from(digit - b'0') * 64 + next() * 8 + next()) as u8
            }
            other => other,
        });
    }
    out
}

/// The same answer with lines: one line for each record, which says the same when its quotes are undone.
#[track_caller]
fn agree(world: &World, args: &[&str], codes: &[i32]) -> Vec<Vec<Vec<u8>>> {
    let records = records(world, args, codes);
    for option in ["--porcelain", "--porcelain=v1"] {
        let output = world.command(&[args, &["--color=always", option]].concat()).output().unwrap();
        assert!(output.stdout.iter().all(|b| matches!(b, b'\t' | b'\n' | b' '..=b'~')), "{output:?}");
        let lines: Vec<&[u8]> = output.stdout.split(|b| *b == b'\n').collect();
        assert_eq!(lines.len(), records.len() + 1, "{args:?}");
        for (line, record) in lines.iter().zip(&records) {
            let fields: Vec<Vec<u8>> = line.splitn(record.len(), |b| *b == b'\t').map(unquoted).collect();
            // The free space may be another one by now.
            let same = fields == *record || record[1] == b"space";
            assert!(same, "{args:?}: {}", String::from_utf8_lossy(line));
        }
    }
    records
}

fn text(field: &[u8]) -> String {
    String::from_utf8_lossy(field).into_owned()
}

fn with<'r>(records: &'r [Vec<Vec<u8>>], tag: &str) -> Vec<&'r Vec<Vec<u8>>> {
    records.iter().filter(|r| r[0] == tag.as_bytes()).collect()
}

const HOSTILE: &str = "printf 1 >'a b'; printf 1 >\"$(printf 'tab\\there')\"; printf 1 >\"$(printf 'line\\nfeed')\"; \
                       printf 1 >'quo\"te'; printf 1 >'back\\slash'; printf 1 >\"$(printf 'esc\\033[31m')\"; \
                       printf 1 >\"$(printf 'latin-\\351')\"; printf 1 >'worker\tx'; mkdir -- '-'; printf 1 >'-/z'; \
                       git rm -q b.txt; git add -A; git commit -qm 'odd'";

#[test]
fn hostile_paths_are_gits_own() {
    let world = World::new();
    let odd = world.root().join("odd \t\"\n\u{e9}");
    world.git(["config", "skein.worktreeDir", odd.to_str().unwrap()]);
    world.worker("w", HOSTILE);
    let ran = world.skein(&[
        "dispatch",
        "--wait",
        "--name",
        "t",
        "a \t\"task\"\u{1b}[8m\n\nof lines",
        "--",
        "true",
    ]);
    assert!([0, 1].contains(&ran.code), "{ran:?}");
    let (base, head) = (world.field("w", "base"), world.field("w", "head"));
    let shown = agree(&world, &["show", "w"], &[0]);
    let changes: Vec<u8> =
        with(&shown, "change").iter().flat_map(|c| [&c[2][..], b"\0", &c[3], b"\0"].concat()).collect();
    let args = ["diff", "--no-renames", "--name-status", base.as_str().unwrap(), head.as_str().unwrap()];
    assert_eq!(text(&changes), text(&world.try_git(args.iter().chain(&["-z"])).stdout));
    assert_eq!(changes, world.try_git(args.iter().chain(&["-z"])).stdout);
    // Without -z the paths are spelled as git spells them.
    let lines = world.skein(&["show", "w", "--porcelain"]).ok().out;
    let ours =
        lines.lines().filter_map(|l| l.strip_prefix("change\t")).map(|l| l.split_once('\t').unwrap().1);
    assert_eq!(ours.collect::<Vec<_>>().join("\n"), world.git(args));

    let status = agree(&world, &["status"], &[0]);
    assert_eq!(with(&status, "worker").len(), 2);
    let place = |w: &str| format!("{}/{w}", odd.display());
    let places: BTreeSet<String> = with(&status, "worktree").iter().map(|r| text(&r[2])).collect();
    assert_eq!(places, BTreeSet::from([place("w"), place("t")]));
    assert_eq!(text(&with(&status, "task")[1][2]), "a \t\"task\"\u{1b}[8m");
}

#[test]
fn fields_are_those_of_json() {
    let world = World::new();
    world.worker("w", "echo 1 >new; git add -A; git commit -qm new");
    world.worker("x", "exit 3");
    world.skein(&["land", "w", "--gate", "true # \t\u{e9}"]).ok();
    let status = agree(&world, &["status"], &[0]);
    let json = world.skein(&["status", "--json"]).ok().json();
    for (record, row) in with(&status, "worker").iter().zip(json["result"]["workers"].as_array().unwrap()) {
        let fields: Vec<String> = record.iter().map(|f| text(f)).collect();
        let keys = [
            "worker", "handle", "outcome", "-", "-", "onto", "base", "head", "snapshot", "landed", "behind",
            "commits", "files", "deltas", "created", "ended",
        ];
        for (at, key) in keys.iter().enumerate().filter(|(_, k)| **k != "-") {
            let want = match &row[*key] {
                serde_json::Value::String(text) => text.clone(),
                serde_json::Value::Null => "-".into(),
                other => other.to_string(),
            };
            assert_eq!(fields[at + 1], want, "{key}");
        }
        assert_eq!((fields[4].as_str(), fields.len()), ("-", 17), "it has ended");
    }
    assert_eq!(text(&with(&status, "reason")[0][2]), "exit code 3");
    let shown = agree(&world, &["show", "x"], &[0]);
    assert_eq!(text(&with(&shown, "exit")[0][2]), "3");
    assert_eq!(with(&shown, "agent").iter().map(|r| text(&r[2])).collect::<Vec<_>>(), ["sh", "-c", "exit 3"]);
    assert!(!with(&agree(&world, &["show", "x", "--events"], &[0]), "event").is_empty());

    let log = agree(&world, &["log"], &[0]);
    assert_eq!((log.len(), with(&log, "intent").len()), (3, 1));
    assert_eq!(text(&with(&log, "landing")[0][7]), world.rev("main"));
    assert_eq!(text(with(&log, "evidence")[0].last().unwrap()), "true # \t\u{e9}");
    assert_eq!(agree(&world, &["log", "-n", "1"], &[0]).len(), 1);

    let landed = agree(&world, &["landed", "w", "--explain"], &[0]);
    assert_eq!(text(&landed[0][1]), "landed");
    assert_eq!((text(&landed[0][2]), text(&landed[0][4])), ("receipt".into(), "yes".into()));
    assert!(!with(&landed, "test").is_empty());
    world.git(["branch", "other", "main~1"]);
    let not = agree(&world, &["landed", "w", "--onto", "other"], &[1]);
    assert_eq!(text(&not[0][1]), "not-landed");
    world.git(["checkout", "-q", "--orphan", "lone"]);
    world.commit("lone");
    let unknown = agree(&world, &["landed", "lone", "--onto", "main"], &[128]);
    assert_eq!((text(&unknown[0][1]), with(&unknown, "why").len()), ("unknown".into(), 1));
}

#[test]
fn doctor_says_the_same_in_records() {
    let world = World::new();
    world.git(["config", "core.hooksPath", ".husky/\t_"]);
    let found = agree(&world, &["doctor"], &[1]);
    let hooks = found.iter().find(|r| r[1] == b"hooks").unwrap();
    assert!(text(&hooks[2]) == "warning" && text(&hooks[3]).contains(".husky/\t_"), "{hooks:?}");
    let json = world.skein(&["doctor", "--json"]).code(1).json();
    assert_eq!(with(&found, "finding").len(), json["result"]["findings"].as_array().unwrap().len());
}

#[test]
fn what_cannot_be_had_is_a_usage_error() {
    let world = World::new();
    world.worker("w", "true");
    let usage = |args: &[&str], word: &str| {
        let ran: Ran = world.skein(args).code(129);
        assert!(ran.err.contains(word) && !ran.err.contains("panicked"), "{args:?}: {}", ran.err);
    };
    for verb in [&["status"][..], &["log"], &["doctor"], &["show", "w"], &["landed", "w"]] {
        usage(&[verb, &["--porcelain=v2"]].concat(), "v1");
        usage(&[verb, &["--porcelain="]].concat(), "v1");
        usage(&[verb, &["--porcelain", "--json"]].concat(), "--json");
        usage(&[verb, &["-z", "--json"]].concat(), "--json");
    }
    usage(&["status", "--watch", "-z"], "cannot be used");
    for part in ["--diff", "--brief", "--log"] {
        usage(&["show", "w", part, "--porcelain"], "--events");
    }
    usage(&["land", "w", "--porcelain"], "--porcelain");
    let nobody = world.skein(&["show", "nobody", "-z"]).refused("no-such-worker", 1);
    assert_eq!(nobody.out, "");
}

#[test]
fn nothing_is_nothing() {
    let world = World::new();
    for args in [&["status"][..], &["log"]] {
        assert_eq!(world.skein(&[args, &["-z"]].concat()).ok().out, "");
    }
}
