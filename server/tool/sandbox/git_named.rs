//! Places that a repository's settings name: hooks, programs, and files with further settings. Git takes code from there
//! as it does from the repository itself.

use std::{
    collections::BTreeSet,
    env, fs,
    path::{Path, PathBuf},
};

use aside_base::regular;

use super::{
    git::{self, pointer},
    git_config::settings,
    places::{OpenGap, Places},
};

/// Maximum size in bytes of a file with settings.
const SETTINGS: u64 = 1 << 20;
/// Maximum number of files that include one another.
const FILES: usize = 200;

/// A repository, and the folder from which its settings name files.
struct NamingRepository {
    /// The folder that Git takes as the repository of the folder `work`.
    git: PathBuf,
    work: PathBuf,
}

/// Adds what the settings of the repositories among these places name, as far as commands can write there. `root` is the
/// workspace, whose repository may lie above it.
pub(super) fn add(places: &mut Places, root: &Path, writable: &[PathBuf]) {
    let above = root.ancestors().skip(1).map(|folder| folder.join(".git"));
    let above = above.filter(|git| git.exists()).take(1);
    let found = places
        .paths()
        .filter(|path| path.ends_with(".git") || git::is_repository(path));
    let repositories: Vec<_> = found.cloned().chain(above).filter_map(repository).collect();
    for repository in repositories {
        repository.add(places, writable);
    }
}

/// The repository at a place: a folder, or what a file points to.
fn repository(place: PathBuf) -> Option<NamingRepository> {
    let above = place.parent()?;
    let work = match place.ends_with(".git") {
        true => above.to_owned(),
        false => place.clone(),
    };
    let git = match place.is_dir() {
        true => place,
        false => above.join(pointer(&place)?.strip_prefix("gitdir:")?.trim()),
    };
    let git = git.canonicalize().ok()?;
    Some(NamingRepository { git, work })
}

impl NamingRepository {
    fn add(&self, places: &mut Places, writable: &[PathBuf]) {
        let common = pointer(&self.git.join("commondir"));
        let common = common.and_then(|to| self.git.join(to.trim()).canonicalize().ok());
        let folders: BTreeSet<&PathBuf> = [&self.git].into_iter().chain(&common).collect();
        for folder in &folders {
            if is_within(folder, writable) && !places.covers(folder) {
                places.add((*folder).clone(), usize::MAX, writable);
            }
            self.add_links(folder, places, writable);
        }
        let own = folders.iter();
        let own = own.flat_map(|folder| ["config", "config.worktree"].map(|it| folder.join(it)));
        let mut files: Vec<PathBuf> = own.chain(of_the_user()).collect();
        let mut at = 0;
        while let Some(file) = files.get(at).cloned() {
            if at == FILES {
                places.gaps.insert(OpenGap::Named(self.work.clone()));
                return;
            }
            at += 1;
            let text = match regular::read(&file, SETTINGS) {
                Ok(text) => String::from_utf8_lossy(&text).into_owned(),
                Err(error) if error.kind() == std::io::ErrorKind::FileTooLarge => {
                    places.gaps.insert(OpenGap::Named(self.work.clone()));
                    continue;
                }
                Err(_) => continue,
            };
            for setting in settings(&text) {
                if setting.key == "include.path" || setting.key == "includeif.path" {
                    let beside = file.parent().unwrap_or(Path::new("/"));
                    let included = expanded(&setting.value, beside);
                    add_named(places, &included, writable);
                    if !files.contains(&included) {
                        files.push(included);
                    }
                } else {
                    self.add_value(places, &setting.key, &setting.value, writable);
                }
            }
        }
    }

    /// Adds what a value names. A folder counts only where Git takes programs from it.
    fn add_value(&self, places: &mut Places, key: &str, value: &str, writable: &[PathBuf]) {
        if key == "core.hookspath" || key == "init.templatedir" {
            let folder = expanded(value, &self.work);
            let real = folder.canonicalize().unwrap_or(folder);
            if value.is_empty() {
                return;
            }
            if writable.iter().any(|it| it.starts_with(&real)) || real == self.work {
                places.gaps.insert(OpenGap::Named(self.work.clone()));
            } else if is_within(&real, writable) {
                places.add(real.clone(), usize::MAX, writable);
                add_links_in(&real, places, writable);
            }
            return;
        }
        let line = value.trim_start_matches('!');
        let words = shlex::split(line)
            .unwrap_or_else(|| line.split_whitespace().map(str::to_owned).collect());
        for word in words.iter().map(String::as_str).chain([value]) {
            let path = expanded(word, &self.work);
            if path.is_file() {
                add_named(places, &path, writable);
            }
        }
    }

    /// Adds what links in the repository lead to: hooks and settings that are kept elsewhere.
    fn add_links(&self, folder: &Path, places: &mut Places, writable: &[PathBuf]) {
        for kept in git::kept_names().map(|name| folder.join(name)) {
            if kept.is_symlink() {
                places.add(kept, usize::MAX, writable);
            }
        }
        add_links_in(&folder.join("hooks"), places, writable);
    }
}

/// Adds the links in a folder of hooks.
fn add_links_in(hooks: &Path, places: &mut Places, writable: &[PathBuf]) {
    let entries = fs::read_dir(hooks).into_iter().flatten().flatten();
    let links = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    for link in links {
        places.add(link.path(), usize::MAX, writable);
    }
}

fn add_named(places: &mut Places, path: &Path, writable: &[PathBuf]) {
    if let Ok(real) = path.canonicalize()
        && is_within(&real, writable)
    {
        places.add(real, usize::MAX, writable);
    }
}

fn is_within(path: &Path, writable: &[PathBuf]) -> bool {
    writable.iter().any(|folder| path.starts_with(folder))
}

/// A path of a setting, from a folder.
fn expanded(value: &str, from: &Path) -> PathBuf {
    match value.strip_prefix("~/").zip(env::home_dir()) {
        Some((below, home)) => home.join(below),
        None => from.join(value),
    }
}

/// The settings of the user and of the system, which hold for every repository.
fn of_the_user() -> impl Iterator<Item = PathBuf> {
    let home = env::home_dir();
    let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let config = config.or_else(|| home.as_ref().map(|home| home.join(".config")));
    let named = env::var_os("GIT_CONFIG_GLOBAL").map(PathBuf::from);
    let all = [
        home.map(|home| home.join(".gitconfig")),
        config.map(|config| config.join("git/config")),
        named,
        Some("/etc/gitconfig".into()),
    ];
    all.into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

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
    fn a_repository_that_a_file_points_to_is_one_too() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for file in ["store/x/HEAD", "work/hooks/a"] {
            let path = root.join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        fs::write(root.join("store/x/config"), "[core]\nhooksPath = hooks\n").unwrap();
        fs::write(root.join("work/.git"), "gitdir: ../store/x\n").unwrap();
        let writable = [root.clone()];
        let mut found = guarded(&root, &writable, &ListedFolders::default());
        add(&mut found, &root, &writable);
        let found: Vec<&Path> = found.paths().map(PathBuf::as_path).collect();
        let expected = ["store/x", "work/.git", "work/hooks"].map(|it| root.join(it));
        assert_eq!(found, expected);
    }
}
