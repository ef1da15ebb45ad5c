//! Which processes have a file open, as far as `/proc` shows it to this user.

use std::path::PathBuf;

/// The processes, as `<pid> <name>`, that have each of `files` open. `None` where this cannot be seen.
#[cfg(target_os = "linux")]
pub fn holders(files: &[PathBuf]) -> Option<Vec<Vec<String>>> {
    let mut found = vec![Vec::new(); files.len()];
    if files.is_empty() {
        return Some(found);
    }
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|n| n.bytes().all(|b| b.is_ascii_digit())) else { continue };
        // Of another user's processes nothing can be seen, and one may end meanwhile.
        for open in std::fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten() {
            let Ok(target) = std::fs::read_link(open.path()) else { continue };
            for (_, held) in files.iter().zip(&mut found).filter(|(file, _)| **file == target) {
                let who = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
                held.push(format!("{pid} {}", who.trim_end()));
            }
        }
    }
    Some(found)
}

#[cfg(not(target_os = "linux"))]
pub fn holders(_files: &[PathBuf]) -> Option<Vec<Vec<String>>> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn an_open_file_has_a_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().canonicalize().unwrap().join("x.lock");
        let file = std::fs::File::create(&path).unwrap();
        let held = holders(std::slice::from_ref(&path)).unwrap();
        assert!(held[0].iter().any(|h| h.starts_with(&format!("{} ", std::process::id()))), "{held:?}");
        drop(file);
        assert_eq!(holders(&[path]).unwrap(), [Vec::<String>::new()]);
    }
}
