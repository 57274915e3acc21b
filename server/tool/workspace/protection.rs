//! Reasons to ask before a file is changed that lie in what it is besides its text.

use std::{fs, path::Path};

use aside_base::{
    system::files::{FileFacts, FileId, is_of_another, is_read_only, may_write, names},
    visible::short_line,
};

/// Maximum number of entries of a workspace among which other names of a file are looked for.
const ENTRIES: usize = 100_000;

/// The reason for a prompt before a file is changed that its owner protects, or that is a file of other places too.
pub(super) fn reason(
    real: &str,
    about: &FileFacts,
    file: &fs::File,
    root: &Path,
) -> Option<String> {
    let path = short_line(real, 80);
    let elsewhere = names(about) > 1 && names_below(root, FileId::of(about)) < names(about);
    let reasons = [
        is_read_only(about).then(|| format!("{path} is read-only")),
        // A file that only its owner may write can be replaced all the same.
        is_of_another(file)
            .unwrap_or(true)
            .then(|| match may_write(&root.join(real)) {
                true => format!("{path} belongs to another user"),
                false => {
                    format!("{path} belongs to another user, and a changed one would be yours")
                }
            }),
        elsewhere.then(|| format!("{path} is also a file outside the workspace, by another name")),
    ];
    let reasons: Vec<String> = reasons.into_iter().flatten().collect();
    (!reasons.is_empty()).then(|| reasons.join("; "))
}

/// The names that a file has below a folder, as far as they are found among its first entries. Links are not followed.
fn names_below(root: &Path, file: FileId) -> u64 {
    let (mut folders, mut found, mut left) = (vec![root.to_owned()], 0, ENTRIES);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            left -= 1;
            if left == 0 {
                return found;
            }
            let Ok(about) = FileFacts::entry(&entry) else {
                continue;
            };
            if about.is_dir() {
                folders.push(entry.path());
            }
            found += u64::from(FileId::of(&about) == file);
        }
    }
    found
}
