//! `AGENTS.md`: what a workspace tells an assistant.

use std::{
    borrow::Cow,
    io::{self, Read},
    path::{Path, PathBuf},
};

use aside_base::visible::without_hidden;
use aside_tool::workspace::{PathError, Workspace};

/// Bytes of the file that are used; the rest is cut off, and the text says so.
const FILE_BYTES: u64 = 64 * 1024;
/// The file of a workspace that has its instructions.
pub(super) const INSTRUCTIONS: &str = "AGENTS.md";

/// The instructions of a workspace.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Instructions {
    /// Their text. None where there are none, or where they are passed over.
    pub(super) text: Option<String>,
    /// The reason why they are passed over, or not used whole: a sentence for a person.
    pub(super) warning: Option<String>,
}

impl Instructions {
    /// The instructions of a workspace, whose own folders of Aside's are known to it: through the same gate as a file
    /// that a model reads.
    pub(super) fn of(workspace: &Workspace) -> Self {
        let passed_over = |why: String| Self {
            text: None,
            warning: Some(format!("{INSTRUCTIONS} is passed over: {why}.")),
        };
        match workspace.file(INSTRUCTIONS) {
            Err(PathError::Missing(_)) => Self::default(),
            Err(error) => passed_over(error.to_string()),
            Ok(file) if file.secret => {
                passed_over(format!("it leads to {}, which may hold secrets", file.path))
            }
            Ok(file) => match read(file.into_file()) {
                Ok(read) => read,
                Err(error) => passed_over(format!("it cannot be read: {error}")),
            },
        }
    }
}

/// Opens a workspace for its instructions.
pub(super) fn opened(root: &Path, own: Vec<PathBuf>) -> io::Result<Workspace> {
    Ok(Workspace::open(root)?.with_own_folders(own))
}

fn read(file: impl Read) -> io::Result<Instructions> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES + 1).read_to_end(&mut bytes)?;
    let is_cut = bytes.len() as u64 > FILE_BYTES;
    if is_cut {
        bytes.pop();
        if let Err(error) = str::from_utf8(&bytes)
            && error.error_len().is_none()
        {
            bytes.truncate(error.valid_up_to());
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let warning = matches!(text, Cow::Owned(_)).then(|| {
        format!("{INSTRUCTIONS} is not UTF-8, so some of its letters are lost; save it as UTF-8.")
    });
    // A person who reads the file does not see what is hidden in it.
    let text = without_hidden(&text);
    let text = match is_cut {
        true => format!("{text}\n[cut at {} KiB]\n", FILE_BYTES / 1024),
        false => text.into_owned(),
    };
    Ok(Instructions {
        text: Some(text),
        warning,
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    /// Every file and link of a workspace with these, and what counts as instructions there.
    fn check(files: &[(&str, &str)], links: &[(&str, &str)], expected: Option<&str>) {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        for (path, target) in links {
            symlink(target, root.path().join(path)).unwrap();
        }
        let own: Vec<PathBuf> = vec![root.path().join("own")];
        let found = Instructions::of(&opened(root.path(), own).unwrap());
        assert_eq!(found.text.as_deref(), expected, "{files:?} {links:?}");
        let is_there = files
            .iter()
            .chain(links)
            .any(|(path, _)| *path == INSTRUCTIONS);
        assert_eq!(
            found.warning.is_some(),
            is_there && expected.is_none(),
            "{found:?}"
        );
    }

    #[test]
    fn letters_that_are_not_utf_8_are_missing_and_it_says_so() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(INSTRUCTIONS), b"Antworte h\xf6flich.").unwrap();
        let found = Instructions::of(&opened(root.path(), Vec::new()).unwrap());
        assert_eq!(found.text.as_deref(), Some("Antworte h\u{fffd}flich."));
        let warning = "AGENTS.md is not UTF-8, so some of its letters are lost; save it as UTF-8.";
        assert_eq!(found.warning.as_deref(), Some(warning));
    }

    #[test]
    fn a_file_counts_and_a_link_inside_the_workspace() {
        check(&[("AGENTS.md", "one")], &[], Some("one"));
        check(&[("README.md", "no")], &[], None);
        check(&[("b.md", "b")], &[("AGENTS.md", "b.md")], Some("b"));
        check(&[("a/b", "b")], &[("AGENTS.md", "a")], None);
        check(&[], &[("AGENTS.md", "/etc/passwd")], None);
    }

    #[test]
    fn what_may_hold_secrets_counts_for_nothing() {
        let secrets = [
            ".env",
            ".env.local",
            "id_rsa",
            ".netrc",
            ".npmrc",
            ".pgpass",
            ".git-credentials",
            "server.key",
            "server.pem",
            ".ssh/config",
            ".aws/credentials",
            ".kube/config",
            ".docker/config.json",
            ".config/gh/hosts.yml",
            "own/state",
        ];
        for secret in secrets {
            let text = [(secret, "canary")];
            check(&text, &[("AGENTS.md", secret)], None);
            check(&text, &[("b.md", secret), ("AGENTS.md", "b.md")], None);
        }
        check(
            &[("keys/AGENTS.md", "public")],
            &[("AGENTS.md", "keys/AGENTS.md")],
            Some("public"),
        );
        check(
            &[(".ssh/AGENTS.md", "canary")],
            &[("AGENTS.md", ".ssh/AGENTS.md")],
            None,
        );
        check(
            &[(".ssh/x", "canary")],
            &[("k", ".ssh"), ("AGENTS.md", "k/x")],
            None,
        );
    }

    #[test]
    fn hidden_characters_do_not_reach_the_model() {
        let text = "Be \u{200b}brief.\u{2066}\u{e0041}\nYes.";
        check(&[("AGENTS.md", text)], &[], Some("Be brief.\nYes."));
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let long = "x".repeat(64 * 1024);
        check(&[("AGENTS.md", &long)], &[], Some(&long));
        let letter_across = format!("{}é", &long[1..]);
        let before = format!("{}\n[cut at 64 KiB]\n", &long[1..]);
        check(&[("AGENTS.md", &letter_across)], &[], Some(&before));
        let cut = format!("{long}\n[cut at 64 KiB]\n");
        check(&[("AGENTS.md", &format!("{long}y"))], &[], Some(&cut));
    }
}
