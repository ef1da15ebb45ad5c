//! Disks that are files.

use std::fs;
use std::path::Path;
use std::path::PathBuf;
use std::process::Command;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

/// A file system, and how it is mounted.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    make: &'static [&'static str],
    megabytes: u64,
    options: &'static str,
}

const KINDS: [Kind; 4] = [
    Kind { name: "ext4", make: &["mkfs.ext4", "-q", "-F"], megabytes: 96, options: "loop" },
    Kind {
        name: "ext4 noauto_da_alloc",
        make: &["mkfs.ext4", "-q", "-F"],
        megabytes: 96,
        options: "loop,noauto_da_alloc",
    },
    Kind { name: "xfs", make: &["mkfs.xfs", "-q", "-f"], megabytes: 320, options: "loop,nouuid" },
    Kind { name: "btrfs", make: &["mkfs.btrfs", "-q", "-f"], megabytes: 160, options: "loop" },
];

/// An empty disk of each kind that can be made and mounted here.
static EMPTY: LazyLock<Vec<(Kind, tempfile::NamedTempFile)>> = LazyLock::new(|| {
    let made = |kind: Kind| {
        let file = tempfile::NamedTempFile::new_in(memory()).unwrap();
        file.as_file().set_len(kind.megabytes << 20).unwrap();
        let [program, args @ ..] = kind.make else { return None };
        let made = Command::new(program).args(args).arg(file.path()).output();
        if !made.is_ok_and(|said| said.status.success()) {
            crate::proof::say(&format!("skipped, there is no {program}"));
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let said = mount(kind, file.path(), folder.path());
        if let Err(why) = said {
            crate::proof::say(&format!("skipped, {} cannot be mounted here: {why}", kind.name));
            return None;
        }
        unmount(folder.path());
        Some((kind, file))
    };
    let kinds: Vec<_> = KINDS.into_iter().filter_map(made).collect();
    assert!(!kinds.is_empty() || !crate::jail::must_mount(), "there is no kind of disk");
    kinds
});

pub fn kinds() -> Vec<Kind> {
    EMPTY.iter().map(|(kind, _)| *kind).collect()
}

fn memory() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
}

fn mount(kind: Kind, image: &Path, folder: &Path) -> Result<(), String> {
    crate::support::mounts::apart();
    let said = Command::new("mount").args(["-o", kind.options]).arg(image).arg(folder).output();
    match said {
        Ok(said) if said.status.success() => Ok(()),
        Ok(said) => Err(String::from_utf8_lossy(&said.stderr).trim().to_owned()),
        Err(e) => Err(e.to_string()),
    }
}

fn unmount(folder: &Path) {
    for _ in 0..100 {
        if Command::new("umount")
            .arg(folder)
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|ended| ended.success())
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let _ = Command::new("umount").arg("--lazy").arg(folder).output();
}

/// A disk in a file, mounted.
pub struct Disk {
    kind: Kind,
    folder: tempfile::TempDir,
    images: tempfile::TempDir,
    image: PathBuf,
}

impl Disk {
    pub fn new(kind: Kind) -> Disk {
        let images = tempfile::tempdir_in(memory()).unwrap();
        let folder = tempfile::tempdir_in(memory()).unwrap();
        let (_, empty) = EMPTY.iter().find(|(other, _)| other.name == kind.name).unwrap();
        let image = images.path().join("image");
        copy(empty.path(), &image);
        mount(kind, &image, folder.path()).unwrap();
        Disk { kind, folder, images, image }
    }

    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// All that is there is on the disk.
    pub fn sync(&self) {
        assert!(Command::new("sync").arg("-f").arg(self.folder()).status().unwrap().success());
    }

    /// What has come to the disk by now is all that there is from now on, at the same place.
    pub fn cut(&mut self) {
        let copied = self.images.path().join("copy");
        // A copy that was taken while the kernel wrote would be one of no moment.
        let mut quiet = false;
        for _ in 0..50 {
            let before = self.written();
            copy(&self.image, &copied);
            quiet = before == self.written() && before.ends_with(" 0");
            if quiet {
                break;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(quiet, "the disk is never quiet");
        unmount(self.folder());
        fs::remove_file(&self.image).unwrap();
        self.image = copied;
        mount(self.kind, &self.image, self.folder()).unwrap();
    }

    /// How many writes the disk has done, and how many it is at.
    fn written(&self) -> String {
        let mounts = fs::read_to_string("/proc/thread-self/mounts").unwrap();
        let here = self.folder().display().to_string();
        let line = mounts.lines().find(|line| line.split(' ').nth(1) == Some(&here)).unwrap();
        let device = line.split(' ').next().unwrap().trim_start_matches("/dev/");
        let stat = fs::read_to_string(format!("/sys/block/{device}/stat")).unwrap();
        let stat: Vec<&str> = stat.split_whitespace().collect();
        format!("{} {}", stat[4], stat[8])
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(self.folder.path());
    }
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").args(["--sparse=always", "--reflink=never"]).arg(from).arg(to).status();
    assert!(copied.unwrap().success());
}

/// Ends every process that works below `folder`: a world of a test's own.
pub fn end_all(folder: &Path) {
    for _ in 0..200 {
        let mut left = 0;
        for process in fs::read_dir("/proc").unwrap().flatten() {
            if fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)) {
                left += 1;
                let _ = Command::new("kill").arg("-KILL").arg(process.file_name()).output();
            }
        }
        if left == 0 {
            return;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    panic!("processes stay in {}", folder.display());
}
