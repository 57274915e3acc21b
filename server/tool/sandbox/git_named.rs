//! Places that a repository's settings name: hooks, programs, and files with further settings. Git takes code from there
//! as it does from the repository itself.

mod lines;
mod values;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use aside_base::{environment, regular, system::folders::canonical};

use self::{
    lines::{has_pattern, modules, started_files},
    values::{expanded, of_the_user, of_variables},
};
use super::{
    git::{self, GITDIR, pointer},
    git_config::{GitSetting, settings},
    places::{OpenGap, Places, plain},
};

/// Maximum size in bytes of a file with settings.
const SETTINGS: u64 = 1 << 20;
/// Maximum number of files that include one another.
const FILES: usize = 200;

/// Keys that name a folder from which Git takes programs.
const HOOKS: [&str; 2] = ["core.hookspath", "init.templatedir"];
/// Key that names the folder of a repository's tree, from the repository.
const TREE: &str = "core.worktree";
/// Keys that name a file with further settings.
const INCLUDED: [&str; 2] = ["include.path", "includeif.path"];
/// Keys that name what Git starts by itself, without their middle.
const STARTED: [&str; 12] = [
    "core.askpass",
    "core.fsmonitor",
    "core.gitproxy",
    "core.sshcommand",
    "credential.helper",
    "diff.command",
    "diff.external",
    "diff.textconv",
    "filter.clean",
    "filter.process",
    "filter.smudge",
    "merge.driver",
];
/// Maximum size in bytes of a hook that is read.
const HOOK: u64 = 64 << 10;

/// A repository, and the folder from which its settings name files.
struct NamingRepository {
    /// The folder that Git takes as the repository of the folder `work`.
    git: PathBuf,
    work: PathBuf,
}

/// Adds what the settings of the user and of the repositories among these places name, as far as commands can write
/// there. `root` is the workspace, whose repository may lie above it.
pub(super) fn add(places: &mut Places, root: &Path, writable: &[PathBuf]) {
    let above = root.ancestors().skip(1).map(|folder| folder.join(".git"));
    let above = above.filter(|git| git.exists()).take(1);
    let found = places
        .paths()
        .filter(|path| path.ends_with(".git") || git::is_repository(path));
    let all: Vec<PathBuf> = found.cloned().chain(above).collect();
    let mut repositories = Vec::new();
    for place in all {
        match repository(&place) {
            Ok(repository) => repositories.push(repository),
            Err(gap) => places.gaps.extend(gap),
        }
    }
    for file in of_the_user() {
        add_file(places, &file, writable);
    }
    // The user's settings hold where there is no repository yet, too.
    NamingSettings {
        work: root,
        writable,
    }
    .add(places, of_the_user().collect());
    for repository in repositories {
        repository.add(places, writable);
    }
}

/// Adds a file from which settings or code are taken, and a link on the way to it.
pub(super) fn add_file(places: &mut Places, file: &Path, writable: &[PathBuf]) {
    let (plain, real) = (plain(file), canonical(file));
    match real {
        Ok(real) if is_within(&real, writable) => {
            if plain != real && canonical(&plain).is_ok_and(|it| it == real) {
                places.add_named(plain, writable);
            }
            places.add_named(real, writable);
        }
        Ok(_) => {}
        Err(_) if is_within(&plain, writable) || plain.is_symlink() => {
            places.add_named(plain, writable);
        }
        Err(_) => {}
    }
}

/// The repository at a place: a folder, or what a file points to.
///
/// # Errors
/// The reason why there may be one that cannot be told, or nothing where there is none.
fn repository(place: &Path) -> Result<NamingRepository, Option<OpenGap>> {
    let above = place.parent().ok_or(None)?;
    let work = match place.ends_with(".git") {
        true => above.to_owned(),
        false => place.to_owned(),
    };
    let git = match place.is_dir() {
        true => place.to_owned(),
        false => {
            let to = pointer(place, GITDIR);
            above.join(to.map_err(|error| hindered(place, error.kind()))?)
        }
    };
    let git = canonical(&git);
    let git = git.map_err(|error| hindered(place, error.kind()))?;
    Ok(NamingRepository { git, work })
}

/// The gap where a file that may name a repository cannot be followed, although its owner may.
fn hindered(file: &Path, error: ErrorKind) -> Option<OpenGap> {
    (error == ErrorKind::PermissionDenied).then(|| OpenGap::Unread(file.to_owned()))
}

impl NamingRepository {
    fn add(&self, places: &mut Places, writable: &[PathBuf]) {
        let file = self.git.join("commondir");
        let common = pointer(&file, "").and_then(|to| canonical(&self.git.join(to)));
        let common = match common {
            Ok(common) => Some(common),
            Err(error) => {
                places.gaps.extend(hindered(&file, error.kind()));
                None
            }
        };
        let folders: BTreeSet<&PathBuf> = [&self.git].into_iter().chain(&common).collect();
        for folder in &folders {
            if is_within(folder, writable) && !places.covers(folder) {
                places.add((*folder).clone(), usize::MAX, writable);
            }
            self.add_links(folder, places, writable);
        }
        let own = folders.iter();
        let own = own.flat_map(|folder| ["config", "config.worktree"].map(|it| folder.join(it)));
        let files: Vec<PathBuf> = own.chain(of_the_user()).collect();
        for work in self.trees(&files) {
            let work = &work;
            NamingSettings { work, writable }.add(places, files.clone());
        }
    }

    /// The folders from which its settings name files: its own, and one that these settings name as its tree.
    fn trees(&self, files: &[PathBuf]) -> BTreeSet<PathBuf> {
        let texts = files
            .iter()
            .filter_map(|file| regular::read(file, SETTINGS).ok());
        let named = texts.flat_map(|text| settings(&String::from_utf8_lossy(&text)));
        let named = named.filter(|setting| setting.key == TREE);
        let trees = named.filter_map(|setting| expanded(&setting.value, &self.git));
        let trees = trees.filter_map(|tree| tree.canonicalize().ok());
        trees.chain([self.work.clone()]).collect()
    }

    /// Adds what links in the repository lead to: hooks and settings that are kept elsewhere.
    fn add_links(&self, folder: &Path, places: &mut Places, writable: &[PathBuf]) {
        for kept in git::kept_names().map(|name| folder.join(name)) {
            if kept.is_symlink() {
                places.add(kept, usize::MAX, writable);
            }
        }
        add_links_in(&folder.join("hooks"), &self.work, places, writable);
    }
}

/// Settings that hold in a folder.
struct NamingSettings<'a> {
    work: &'a Path,
    writable: &'a [PathBuf],
}

impl NamingSettings<'_> {
    /// Adds what these files and those that they include name, and the variables that Git takes for settings.
    fn add(&self, places: &mut Places, mut files: Vec<PathBuf>) {
        // Aside has taken some out of its environment, as their names look secret.
        let variable = |name: &str| environment::variable(name).map(OsString::from);
        let (named, are_all) = of_variables(variable);
        if !are_all {
            self.note(places);
        }
        for setting in named {
            self.add_setting(places, &setting, self.work, &mut files);
        }
        let mut at = 0;
        while let Some(file) = files.get(at).cloned() {
            if at == FILES {
                self.note(places);
                return;
            }
            at += 1;
            let text = match regular::read(&file, SETTINGS) {
                Ok(text) => String::from_utf8_lossy(&text).into_owned(),
                Err(error) if self.may_be_opened(&file, error.kind()) => {
                    self.note(places);
                    continue;
                }
                Err(_) => continue,
            };
            let beside = file.parent().unwrap_or(Path::new("/"));
            for setting in settings(&text) {
                self.add_setting(places, &setting, beside, &mut files);
            }
        }
    }

    /// Whether a file that cannot be read may have settings, at once or after a command let others read it.
    fn may_be_opened(&self, file: &Path, error: ErrorKind) -> bool {
        let real = canonical(file).unwrap_or_else(|_| file.to_owned());
        error == ErrorKind::FileTooLarge
            || (error == ErrorKind::PermissionDenied && is_within(&real, self.writable))
    }

    /// Notes that the settings may name more than is known.
    fn note(&self, places: &mut Places) {
        places.gaps.insert(OpenGap::Named(self.work.to_owned()));
    }

    fn add_setting(
        &self,
        places: &mut Places,
        setting: &GitSetting,
        beside: &Path,
        files: &mut Vec<PathBuf>,
    ) {
        let GitSetting { key, value } = setting;
        let is_included = INCLUDED.contains(&key.as_str());
        let is_path = is_included || HOOKS.contains(&key.as_str());
        let from = if is_included { beside } else { self.work };
        let Some(path) = expanded(value, from) else {
            if is_path {
                self.note(places);
            }
            return;
        };
        match key.as_str() {
            _ if is_included => {
                add_file(places, &path, self.writable);
                if !files.contains(&path) {
                    files.push(path);
                }
            }
            key if HOOKS.contains(&key) => {
                if !value.is_empty() {
                    self.add_hooks(places, path);
                }
            }
            key => {
                if STARTED.contains(&key) && has_pattern(value) {
                    self.note(places);
                }
                self.add_line(places, value, path);
                add_modules(places, value, self.work, self.writable);
            }
        }
    }

    /// Adds a folder from which Git takes programs.
    fn add_hooks(&self, places: &mut Places, folder: PathBuf) {
        let real = canonical(&folder).unwrap_or_else(|_| folder.clone());
        if self.writable.iter().any(|it| it.starts_with(&real)) || real == self.work {
            self.note(places);
        } else if is_within(&real, self.writable) {
            add_file(places, &folder, self.writable);
            add_links_in(&real, self.work, places, self.writable);
        }
    }

    /// Adds the files that a line for a shell may start.
    fn add_line(&self, places: &mut Places, line: &str, whole: PathBuf) {
        match started_files(line, self.work, whole) {
            Some(files) => files
                .iter()
                .for_each(|file| add_file(places, file, self.writable)),
            None => self.note(places),
        }
    }
}

/// Adds the modules that a text starts, which are looked for in the folder first, be they there or not.
fn add_modules(places: &mut Places, text: &str, work: &Path, writable: &[PathBuf]) {
    for path in modules(text, work) {
        add_file(places, &path, writable);
    }
}

/// Adds the links in a folder of hooks, and the modules that its hooks start.
fn add_links_in(hooks: &Path, work: &Path, places: &mut Places, writable: &[PathBuf]) {
    places.note_files(hooks);
    let entries = fs::read_dir(hooks).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    for link in links {
        places.add(link.path(), usize::MAX, writable);
    }
    for hook in fs::read_dir(hooks).into_iter().flatten().flatten() {
        let is_sample = hook.path().extension().is_some_and(|it| it == "sample");
        let Some(text) = (!is_sample)
            .then(|| regular::read(&hook.path(), HOOK).ok())
            .flatten()
        else {
            continue;
        };
        // A module that is there is code of the project, which a hook starts as any other; one that is made later
        // would be taken in place of what was meant.
        for both in modules(&String::from_utf8_lossy(&text), work).chunks(2) {
            if !both.iter().any(|path| path.exists()) {
                both.iter()
                    .for_each(|path| add_file(places, path, writable));
            }
        }
    }
}

fn is_within(path: &Path, writable: &[PathBuf]) -> bool {
    writable.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        ffi::OsStr,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };

    use super::*;
    use crate::sandbox::place_search::{ListedFolders, guarded};

    #[test]
    fn what_settings_name_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for file in [
            ".git/HEAD",
            ".git/objects/x",
            ".git/refs/x",
            ".git/hooks/x",
            "scripts/hooks/pre-commit",
            "scripts/monitor",
            "scripts/filter.sh",
            "scripts/post",
            "elsewhere/hooks/a",
            "sub/x",
        ] {
            write(file, "");
        }
        write(
            ".git/config",
            "[core]\n hooksPath = scripts/hooks\n fsmonitor = scripts/monitor --x\n\
             [filter \"x\"]\n clean = \"sh scripts/filter.sh %f\"\n[include]\n path = ../more.cfg\n\
             [branch \"main\"]\n merge = sub\n[core]\n worktree = sub\n",
        );
        write("more.cfg", "[include]\npath = conf/deep.cfg\n");
        write("conf/deep.cfg", "[alias]\nx = !scripts/none\n");
        symlink("../../scripts/post", root.join(".git/hooks/post-commit")).unwrap();
        symlink("../elsewhere/hooks", root.join(".git/branches")).unwrap();
        let writable = [root.clone()];
        let mut found = guarded(&root, &writable, &ListedFolders::default());
        add(&mut found, &root, &writable);
        let named: Vec<String> = found
            .paths()
            .map(|path| path.strip_prefix(&root).unwrap().display().to_string())
            .collect();
        let expected = [
            ".git",
            ".git/branches",
            ".git/hooks/post-commit",
            "conf/deep.cfg",
            "more.cfg",
            "scripts/filter.sh",
            "scripts/hooks",
            "scripts/monitor",
        ];
        assert_eq!(named, expected);
        assert!(found.gaps.is_empty());
        write(".git/config", "[core]\nhooksPath = .\n");
        add(&mut found, &root, &writable);
        assert_eq!(found.gaps, [OpenGap::Named(root.clone())].into());
    }

    #[test]
    fn modules_that_git_starts_are_found_be_they_there_or_not() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in [
            ".git/objects",
            ".git/refs",
            ".git/hooks",
            "linted",
            "scripts",
        ] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in [".git/HEAD", "fsmod.py", "scripts/__main__.py"] {
            fs::write(root.join(path), "").unwrap();
        }
        let hook = "exec \"$INSTALL_PYTHON\" -mpre_commit \"${ARGS[@]}\"; python3 -m linted; git commit -m words\n";
        fs::write(root.join(".git/hooks/pre-commit"), hook).unwrap();
        fs::write(root.join(".git/hooks/post.sample"), "python -m sample").unwrap();
        let writable = [root.clone()];
        let found = |config: &str| {
            fs::write(root.join(".git/config"), config).unwrap();
            let mut found = guarded(&root, &writable, &ListedFolders::default());
            add(&mut found, &root, &writable);
            found
        };
        let all = found(
            "[core]\nfsmonitor = python3 -m fsmod\n[filter \"x\"]\nclean = \"\\\"/usr/bin/python3\\\" -u -m nbstripout\"\n\
             smudge = python3 scripts\n\
             [diff \"x\"]\ntextconv = python3 -Bsm late\n[diff \"y\"]\ntextconv = node -r ./pre x.js\n\
             [diff \"z\"]\ntextconv = ruby -rconv\n[alias]\nx = log --format='[%an]'\n[remote \"o\"]\nfetch = +refs/*:refs/*\n",
        );
        for (path, is_named) in [
            ("fsmod.py", true),
            ("nbstripout.py", true),
            ("nbstripout", true),
            ("scripts/__main__.py", true),
            ("pre_commit.py", true),
            ("linted", false),
            ("words.py", false),
            ("late.py", true),
            ("pre.js", true),
            ("conv.rb", true),
            ("sample.py", false),
        ] {
            assert_eq!(all.lead_to(&root.join(path)), is_named, "{path}");
        }
        assert!(all.gaps.is_empty(), "{:?}", all.gaps);
        for monitor in ["sh ./f?", "PATH=scripts:$PATH mon"] {
            let found = found(&format!("[core]\nfsmonitor = {monitor}\n"));
            assert_eq!(
                found.gaps,
                [OpenGap::Named(root.clone())].into(),
                "{monitor}"
            );
        }
    }

    #[test]
    fn files_are_named_from_the_tree_that_settings_name() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["store/objects", "store/refs", "src/hk"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("store/HEAD"), "").unwrap();
        let config = "[core]\nworktree = ../src\nhooksPath = hk\n";
        fs::write(root.join("store/config"), config).unwrap();
        let writable = [root.clone()];
        let mut found = guarded(&root, &writable, &ListedFolders::default());
        add(&mut found, &root, &writable);
        let found: Vec<&Path> = found.paths().map(PathBuf::as_path).collect();
        assert_eq!(found, [root.join("src/hk"), root.join("store")]);
    }

    #[test]
    fn variables_hold_settings() {
        let value = |name: &str| {
            let value = match name {
                "GIT_CONFIG_COUNT" => "2",
                "GIT_CONFIG_KEY_0" => "core.hooksPath",
                "GIT_CONFIG_VALUE_0" => "tool",
                "GIT_CONFIG_KEY_1" => "filter.a.b.Clean",
                "GIT_CONFIG_VALUE_1" => "tool/x %f",
                "GIT_CONFIG_PARAMETERS" => "'alias.x=!y' 'include.path'='z'",
                "GIT_SSH" => "tool/ssh",
                _ => return None,
            };
            Some(value.into())
        };
        let (read, are_all) = of_variables(value);
        assert!(are_all);
        let many = |name: &str| (name == "GIT_CONFIG_COUNT").then(|| "201".into());
        assert!(!of_variables(many).1);
        let read: Vec<_> = read
            .iter()
            .map(|it| (it.key.as_str(), it.value.as_str()))
            .collect();
        let expected = [
            ("core.hookspath", "tool"),
            ("filter.clean", "tool/x %f"),
            ("alias.x", "!y"),
            ("include.path", "z"),
            ("git_ssh", "tool/ssh"),
        ];
        assert_eq!(read, expected);
    }

    #[test]
    fn a_repository_that_a_file_points_to_is_one_too() {
        for name in [&b"x"[..], b"b\xfccher "] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            let store = root.join("store").join(OsStr::from_bytes(name));
            for folder in [&store, &root.join("work/hooks")] {
                fs::create_dir_all(folder).unwrap();
            }
            fs::write(store.join("config"), "[core]\nhooksPath = hooks\n").unwrap();
            let pointer = [b"gitdir: ../store/", name, b"\n"].concat();
            fs::write(root.join("work/.git"), pointer).unwrap();
            let writable = [root.clone()];
            let mut found = guarded(&root, &writable, &ListedFolders::default());
            add(&mut found, &root, &writable);
            let found: Vec<&Path> = found.paths().map(PathBuf::as_path).collect();
            let expected = [store, root.join("work/.git"), root.join("work/hooks")];
            assert_eq!(found, expected);
        }
    }
}
