//! The workspaces that the user trusts. The list is kept outside of them, by folder, together with hashes of their
//! `aside.toml` and of the programs that it names: when one changes, trust has ended.

use aside_base::digest::is_sha256;
use std::{
    collections::BTreeMap,
    io::{self, Read},
    path::{Path, PathBuf},
};

use aside_base::{
    folder, private, regular,
    system::{folders::canonical, locks},
    unfinished,
};
use serde::{Deserialize, Serialize};

use self::programs::{Programs, command_words, resolved, variable_values};
use super::sources::FILE_NAME;

pub(crate) mod programs;

/// Words of commands that are looked at.
const WORDS: usize = 4096;
/// Value that is kept of a folder whose `aside.toml` a command made.
const MADE: &str = "by a command";
/// Bytes of the file of trusted folders.
const STORE_BYTES: u64 = 16 * 1024 * 1024;

/// The state to which trust is bound: the folder itself, `aside.toml`, and each file of the workspace that a command in
/// it names, with its content. Of a folder that is named, only the existence counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fingerprint {
    /// Identity of the folder, as of [`folder::identity`].
    folder: String,
    files: BTreeMap<String, String>,
}

/// Name for the change of the workspace's folder itself, which another folder has replaced.
const FOLDER: &str = "the folder itself";

/// Whether a workspace is trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trust {
    /// Trusted as it is now.
    Given,
    /// Trusted before, but these files changed since: paths as in `aside.toml`.
    Ended(Vec<String>),
    /// Never trusted, or trust was revoked.
    Never,
}

/// The ground from which an MCP server of the user's starts, as far as it lies in open places.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerGrounds {
    /// SHA-256 of the settings that start it.
    pub settings: String,
    /// A digest of each path that they name.
    pub paths: BTreeMap<String, String>,
}

/// The trusted folders, in `trust.json` below the state directory.
#[derive(Clone, Debug)]
pub struct TrustStore {
    state_dir: PathBuf,
}

#[derive(Default, Serialize, Deserialize)]
struct Stored {
    #[serde(default)]
    folders: BTreeMap<String, Fingerprint>,
    /// The grounds of the user's own MCP servers, by folder and server.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    servers: BTreeMap<String, BTreeMap<String, ServerGrounds>>,
    /// The folders whose `aside.toml` a command made; earlier versions kept its SHA-256.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    made: BTreeMap<String, String>,
}

impl Fingerprint {
    /// Looks at a workspace. `workspace_file` is the text of its `aside.toml`, as it was read for the settings,
    /// so that what is trusted is what counts.
    ///
    /// # Errors
    /// A program that cannot be read, or programs of over 256 MiB together.
    pub fn of(root: &Path, workspace_file: Option<&str>) -> io::Result<Self> {
        let root = canonical(root)?;
        let mut files = BTreeMap::new();
        if let Some(text) = workspace_file {
            files.insert(
                FILE_NAME.to_owned(),
                aside_base::digest::sha256(text.as_bytes()),
            );
            let mut programs = Programs::of(&root);
            let words = command_words(text);
            if words.len() > WORDS {
                return Err(io::Error::other(format!(
                    "the commands in its aside.toml cannot be watched: they have over {WORDS} words"
                )));
            }
            let values = variable_values(text);
            let mut named: Vec<String> = values
                .iter()
                .flat_map(|value| programs.named_in(value))
                .collect();
            for word in words {
                let what = programs.look(&word)?;
                named.extend(programs.named_in(&word));
                files.insert(word, what);
            }
            for path in named {
                let what = programs.look(&path)?;
                files.entry(path).or_insert(what);
            }
            files.extend(resolved(text));
        }
        Ok(Self {
            folder: folder::identity(&root)?,
            files,
        })
    }

    /// A text that is another one when anything that trust is bound to is.
    #[must_use]
    pub fn id(&self) -> String {
        let files = self.files.iter();
        let mut parts: Vec<&str> = files
            .flat_map(|(name, what)| [name.as_str(), what])
            .collect();
        parts.push(&self.folder);
        aside_base::digest::of_parts(&parts)
    }

    /// The files of the workspace whose change ends trust, beside `aside.toml`: paths relative to its root.
    #[must_use]
    pub fn programs(&self) -> Vec<String> {
        let files = self
            .files
            .iter()
            .filter(|(name, what)| *name != FILE_NAME && is_sha256(what));
        files.map(|(name, _)| name.clone()).collect()
    }

    fn changes_since(&self, earlier: &Self) -> Vec<String> {
        let names = self
            .files
            .keys()
            .chain(earlier.files.keys())
            .filter(|name| self.files.get(*name) != earlier.files.get(*name));
        let mut names: Vec<String> = names.cloned().collect();
        names.sort();
        names.dedup();
        if self.folder != earlier.folder {
            names.insert(0, FOLDER.to_owned());
        }
        names
    }
}

impl TrustStore {
    /// The store of a user; the directory need not be there yet.
    #[must_use]
    pub fn new(state_dir: impl Into<PathBuf>) -> Self {
        Self {
            state_dir: state_dir.into(),
        }
    }

    /// Is a workspace trusted as it is now? Where this fails, it is not.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be read.
    pub fn status(&self, root: &Path, now: &Fingerprint) -> io::Result<Trust> {
        let key = folder_key(root)?;
        Ok(match self.read()?.folders.get(&key) {
            None => Trust::Never,
            Some(then) => match now.changes_since(then) {
                changes if changes.is_empty() => Trust::Given,
                changes => Trust::Ended(changes),
            },
        })
    }

    /// Was the workspace trusted once? Without a look at it: as long as it was not, nothing of it is worth the time.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be read.
    pub fn knows(&self, root: &Path) -> io::Result<bool> {
        Ok(self.read()?.folders.contains_key(&folder_key(root)?))
    }

    /// The folders that are trusted, or were until something in them changed; none where the store cannot be read.
    #[must_use]
    pub fn folders(&self) -> Vec<PathBuf> {
        let stored = self.read().unwrap_or_default();
        stored.folders.into_keys().map(PathBuf::from).collect()
    }

    /// Trusts a workspace as it is now.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be written.
    pub fn give(&self, root: &Path, now: Fingerprint) -> io::Result<()> {
        let key = folder_key(root)?;
        self.change(|stored| {
            // Whoever trusts it approves what is there.
            stored.servers.remove(&key);
            stored.made.remove(&key);
            stored.folders.insert(key, now);
        })
    }

    /// The paths in which something changed that an MCP server of the user's starts from, since that was approved in
    /// this workspace. What is seen first, and what the user's settings name anew, is approved by that.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be read or written.
    pub fn server_changes(
        &self,
        root: &Path,
        server: &str,
        now: ServerGrounds,
    ) -> io::Result<Vec<String>> {
        let key = folder_key(root)?;
        let stored = self.read()?;
        let then = stored.servers.get(&key).and_then(|all| all.get(server));
        if let Some(then) = then.filter(|then| then.settings == now.settings) {
            let all = then.paths.keys().chain(now.paths.keys());
            let all = all.filter(|path| then.paths.get(*path) != now.paths.get(*path));
            let mut changed: Vec<String> = all.cloned().collect();
            changed.sort();
            changed.dedup();
            return Ok(changed);
        }
        self.change(|stored| {
            let all = stored.servers.entry(key).or_default();
            all.insert(server.to_owned(), now);
        })?;
        Ok(Vec::new())
    }

    /// A command made the `aside.toml` of a workspace, which counts for nothing until somebody trusts the workspace.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be written.
    pub fn note_made(&self, root: &Path) -> io::Result<()> {
        let key = folder_key(root)?;
        self.change(|stored| drop(stored.made.insert(key, MADE.to_owned())))
    }

    /// Whether a command made the `aside.toml` of a workspace, whatever became of it since. One that was not seen to end
    /// may have done so.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be read or written.
    pub fn is_made(&self, root: &Path) -> io::Result<bool> {
        let settings = canonical(root)?.join(FILE_NAME);
        let may_be = |above| unfinished::may_have_made(&self.state_dir, above, &settings);
        if root.ancestors().any(may_be) {
            self.note_made(root)?;
            unfinished::forget(&self.state_dir, root);
        }
        Ok(self.read()?.made.contains_key(&folder_key(root)?))
    }

    /// Trusts a workspace no more.
    ///
    /// # Errors
    /// A folder that is not there, or a store that cannot be written.
    pub fn revoke(&self, root: &Path) -> io::Result<()> {
        let key = folder_key(root)?;
        self.change(|stored| drop(stored.folders.remove(&key)))
    }

    fn path(&self) -> PathBuf {
        self.state_dir.join("trust.json")
    }

    fn read(&self) -> io::Result<Stored> {
        let file = match regular::open(&self.path()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Stored::default()),
            Err(error) => return Err(error),
        };
        if !private::is_own(&file)? {
            let what = format!(
                "{} belongs to another user; remove it and trust again",
                self.path().display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, what));
        }
        serde_json::from_reader(io::BufReader::new(file.take(STORE_BYTES))).map_err(|_| {
            let what = format!(
                "{} is damaged; remove it and trust again",
                self.path().display()
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        })
    }

    /// Two processes may trust two workspaces at once, so reading and writing are under one lock.
    fn change(&self, change: impl FnOnce(&mut Stored)) -> io::Result<()> {
        private::make_folder(&self.state_dir)?;
        let lock = private::lock_file(&self.state_dir.join("trust.lock"))?;
        locks::lock(&lock)?;
        let mut stored = self.read()?;
        change(&mut stored);
        private::replace(&self.path(), &serde_json::to_vec_pretty(&stored)?)
    }
}

/// The real path of a folder, by which trust in it is kept.
fn folder_key(root: &Path) -> io::Result<String> {
    let folder = canonical(root)?;
    let text = folder
        .to_str()
        .ok_or_else(|| {
            let folder = folder.display();
            let what = format!(
                "the path of the workspace {folder} is not UTF-8, so trust in it cannot be kept; rename it"
            );
            io::Error::new(io::ErrorKind::InvalidData, what)
        })?;
    Ok(text.to_owned())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        ffi::OsStr,
        fs,
        os::unix::{
            ffi::OsStrExt,
            fs::{PermissionsExt, chown, symlink},
        },
    };

    use super::*;

    const FILE: &str = r#"
        conversation.tools.lint.command = ["python3", "tools/lint.py", "--strict"]
        mcp.servers.db = { command = "bin/db", args = ["conf/db.ini", "bin/out"] }
    "#;

    /// Trusts a workspace, lets `change` happen, and says what is trusted then.
    fn check(change: impl FnOnce(&Path, &TrustStore), expected: &str) {
        let folder = tempfile::tempdir().unwrap();
        let (root, state) = (folder.path().join("work"), folder.path().join("state"));
        for (path, text) in [
            ("aside.toml", FILE),
            ("tools/lint.py", "1"),
            ("bin/db", "2"),
            ("x", "3"),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        for outside in ["one", "two"] {
            fs::write(folder.path().join(outside), "the same").unwrap();
        }
        symlink(folder.path().join("one"), root.join("bin/out")).unwrap();
        let now = || {
            Fingerprint::of(
                &root,
                fs::read_to_string(root.join("aside.toml")).ok().as_deref(),
            )
        };
        let store = TrustStore::new(&state);
        assert_eq!(store.status(&root, &now().unwrap()).unwrap(), Trust::Never);
        store.give(&root, now().unwrap()).unwrap();
        change(&root, &store);
        let status = now().and_then(|now| store.status(&root, &now));
        let said = match status {
            Ok(Trust::Given) => "given".to_owned(),
            Ok(Trust::Never) => "never".to_owned(),
            Ok(Trust::Ended(what)) => format!("ended: {}", what.join(", ")),
            Err(error) => error.to_string(),
        };
        assert_eq!(said.replace(folder.path().to_str().unwrap(), ""), expected);
    }

    fn write(path: &'static str, text: &'static str) -> impl FnOnce(&Path, &TrustStore) {
        move |root, _| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
    }

    #[test]
    fn trust_lasts_until_something_that_it_covers_changes() {
        check(|_, _| {}, "given");
        check(write("x", "another"), "given");
        check(write("aside.toml", &FILE[1..]), "ended: aside.toml");
        check(write("tools/lint.py", "another"), "ended: tools/lint.py");
        check(write("bin/db", "another"), "ended: bin/db");
        check(write("conf/db.ini", "it appears"), "ended: conf/db.ini");
        check(write("python3", "it appears"), "ended: python3");
        check(
            |root, _| fs::remove_file(root.join("bin/db")).unwrap(),
            "ended: bin/db",
        );
        check(
            |root, _| fs::remove_file(root.join("aside.toml")).unwrap(),
            "ended: --strict, aside.toml, bin/db, bin/out, conf/db.ini, python3, tools/lint.py",
        );
    }

    #[test]
    fn a_program_that_becomes_a_link_is_another() {
        let swap = |root: &Path, _: &TrustStore| {
            fs::remove_file(root.join("bin/db")).unwrap();
            symlink("/dev/null", root.join("bin/db")).unwrap();
        };
        check(swap, "ended: bin/db");
        let turn = |root: &Path, _: &TrustStore| {
            fs::remove_file(root.join("bin/out")).unwrap();
            symlink(root.parent().unwrap().join("two"), root.join("bin/out")).unwrap();
        };
        check(turn, "ended: bin/out");
    }

    #[test]
    fn trust_that_another_user_wrote_does_not_count() {
        // Only root gives a file away.
        let other = tempfile::NamedTempFile::new().unwrap();
        if chown(other.path(), Some(65534), None).is_err() {
            return;
        }
        let give = |_: &Path, store: &TrustStore| chown(store.path(), Some(65534), None).unwrap();
        let said = "/state/trust.json belongs to another user; remove it and trust again";
        check(give, said);
    }

    #[test]
    fn a_folder_that_cannot_be_named_is_said_to_be_the_workspace() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(OsStr::from_bytes(b"caf\xe9"));
        if fs::create_dir(&root).is_err() {
            return; // Some systems have no such names.
        }
        let error = TrustStore::new(folder.path()).knows(&root).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        let said = error.to_string();
        assert!(said.starts_with("the path of the workspace /"), "{said}");
        assert!(
            said.contains("is not UTF-8") && said.ends_with("rename it"),
            "{said}"
        );
    }

    #[test]
    fn trust_can_be_revoked_and_is_kept_by_the_real_folder() {
        check(|root, store| store.revoke(root).unwrap(), "never");
        let through_link = |root: &Path, store: &TrustStore| {
            let link = root.parent().unwrap().join("link");
            symlink(root, &link).unwrap();
            store.revoke(&link).unwrap();
        };
        check(through_link, "never");
    }

    #[test]
    fn folders_do_not_disturb_each_other_and_the_store_is_private() {
        let other = |root: &Path, store: &TrustStore| {
            let other = root.parent().unwrap().join("other");
            fs::create_dir(&other).unwrap();
            store
                .give(&other, Fingerprint::of(&other, None).unwrap())
                .unwrap();
            store.revoke(&other).unwrap();
            let mode = fs::metadata(store.path()).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        };
        check(other, "given");
    }

    #[test]
    fn another_folder_in_its_place_is_not_trusted() {
        let replace = |root: &Path, _: &TrustStore| {
            let old = root.with_file_name("old");
            fs::rename(root, &old).unwrap();
            fs::create_dir(root).unwrap();
            for name in ["aside.toml", "tools", "bin", "x"] {
                fs::rename(old.join(name), root.join(name)).unwrap();
            }
        };
        check(replace, "ended: the folder itself");
        let moved_and_back = |root: &Path, _: &TrustStore| {
            let elsewhere = root.with_file_name("elsewhere");
            fs::rename(root, &elsewhere).unwrap();
            fs::rename(&elsewhere, root).unwrap();
        };
        check(moved_and_back, "given");
    }

    #[test]
    fn a_damaged_store_trusts_nothing() {
        let damage = |_: &Path, store: &TrustStore| fs::write(store.path(), "{").unwrap();
        check(
            damage,
            "/state/trust.json is damaged; remove it and trust again",
        );
    }
}
