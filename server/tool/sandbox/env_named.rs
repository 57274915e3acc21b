//! Files that direnv and mise load or run with the settings of a folder. Whoever let them load the settings let them load
//! these too, whatever they hold by then.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use aside_base::{environment, regular, secrets::folded};
use toml::{Table, Value};

use super::{
    git_named::add_file,
    places::{OpenGap, Places},
};

/// Maximum size in bytes of a file with settings.
const SETTINGS: u64 = 1 << 20;
/// Programs of a script that load the files behind them.
const LOADERS: [&str; 8] = [
    ".",
    "direnv_load",
    "dotenv",
    "dotenv_if_exists",
    "eval",
    "source",
    "source_env",
    "source_env_if_exists",
];
/// Those behind which files stand of which only the change counts, and folders of programs.
const WATCHERS: [&str; 6] = [
    "PATH_add",
    "MANPATH_add",
    "path_add",
    "watch_dir",
    "watch_file",
    "nix_direnv_watch_file",
];
/// Words that may stand before the program of a statement.
const BEFORE: [&str; 10] = [
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "(",
];
/// Words that begin a statement that sets variables.
const SETTERS: [&str; 5] = ["export", "declare", "local", "readonly", "typeset"];
/// Variables whose files programs load or run by themselves.
const LOADED_BY: [&str; 14] = [
    "BASH_ENV",
    "ENV",
    "GIT_ASKPASS",
    "GIT_CONFIG_GLOBAL",
    "GIT_EXTERNAL_DIFF",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "JAVA_TOOL_OPTIONS",
    "LD_PRELOAD",
    "NODE_OPTIONS",
    "PERL5OPT",
    "PYTHONSTARTUP",
    "RUBYOPT",
    "SSH_ASKPASS",
];
/// What `dotenv` loads where no file is named.
const USUAL: &str = ".env";
/// Spellings of the folder of the settings.
const HERE: [&str; 6] = [
    "$PWD",
    "${PWD}",
    "$(pwd)",
    "$(git rev-parse --show-toplevel)",
    "{{config_root}}",
    "{{cwd}}",
];
/// Parts of settings of mise by which nothing runs before the user says so.
const LATER: [&str; 8] = [
    "alias",
    "plugins",
    "redactions",
    "shell_alias",
    "task_config",
    "tasks",
    "tool_alias",
    "tools",
];
/// Folders in which mise keeps settings of the folder above.
const OF_MISE: [&str; 4] = [".config", ".mise", "conf.d", "mise"];
/// Depth of such folders.
const DEEP: usize = 3;

/// A statement of a script, or a value of settings, that may load files.
#[derive(Debug, Default, PartialEq, Eq)]
struct LoadingText {
    /// Words that may be those files.
    words: BTreeSet<String>,
    /// Folders of which any file may be loaded.
    folders: BTreeSet<String>,
    /// Whether it loads something else if none of them is there.
    is_untold: bool,
}

/// Adds what the settings among these places load, as far as commands can write there, and notes what cannot be told.
pub(super) fn add(places: &mut Places, writable: &[PathBuf]) {
    let files: Vec<(PathBuf, bool)> = places.paths().flat_map(|it| settings_at(it)).collect();
    for (file, is_mise) in files {
        let text = match regular::read(&file, SETTINGS) {
            Ok(text) => text,
            Err(error) => {
                if error.kind() == ErrorKind::FileTooLarge {
                    places.gaps.insert(OpenGap::Untold(file));
                }
                continue;
            }
        };
        let text = String::from_utf8_lossy(&text);
        let (texts, levels) = match is_mise {
            true => (of_mise(&text), DEEP + 1),
            false => (of_direnv(&text, &environment::variable), 1),
        };
        let is_own = |it: &&Path| {
            it.file_name()
                .is_some_and(|name| OF_MISE.iter().any(|own| name == *own))
        };
        let above: Vec<&Path> = file.ancestors().skip(1).take(levels).collect();
        let owned = above.iter().take_while(|it| is_own(it)).count();
        let bases: Vec<PathBuf> = above
            .iter()
            .take(owned + 1)
            .map(|it| it.to_path_buf())
            .collect();
        let entered: Vec<PathBuf> = bases
            .iter()
            .flat_map(|base| entered(&texts, base))
            .collect();
        for text in texts {
            let found = bases
                .iter()
                .map(|base| add_text(places, &text, base, writable));
            let is_there = found.fold(false, |any, it| any | it);
            let below = entered
                .iter()
                .map(|base| add_files(places, &text, base, writable));
            let is_there = below.fold(is_there, |any, it| any | it);
            if text.is_untold && !is_there {
                places.gaps.insert(OpenGap::Untold(file.clone()));
            }
        }
    }
}

/// The folders below this one that texts name: a script may enter one first.
fn entered(texts: &[LoadingText], base: &Path) -> Vec<PathBuf> {
    let words: BTreeSet<&String> = texts.iter().flat_map(|text| &text.words).collect();
    let paths = words.into_iter().map(|word| base.join(word));
    let below = paths.filter(|path| path.starts_with(base) && path.is_dir());
    below
        .filter(|path| path.components().count() > base.components().count())
        .collect()
}

/// Adds what a text may load, from a folder. Returns whether any of it is there.
fn add_text(places: &mut Places, text: &LoadingText, folder: &Path, writable: &[PathBuf]) -> bool {
    let usual = text.words.iter().filter(|word| word.ends_with(USUAL));
    for word in usual {
        add_file(places, &folder.join(word), writable);
    }
    let mut is_there = add_files(places, text, folder, writable);
    for path in text.folders.iter().map(|it| folder.join(it)) {
        if path.is_dir() {
            is_there = true;
            add_file(places, &path, writable);
        }
    }
    is_there
}

/// Adds the files that a text may load from a folder. Returns whether there is one.
fn add_files(places: &mut Places, text: &LoadingText, base: &Path, writable: &[PathBuf]) -> bool {
    let mut is_there = false;
    for path in text.words.iter().map(|word| base.join(word)) {
        if path.is_file() || path.is_symlink() {
            is_there = true;
            add_file(places, &path, writable);
        }
    }
    is_there
}

/// The files of settings at a place, each with whether it is one of mise, or else of direnv.
fn settings_at(place: &Path) -> Vec<(PathBuf, bool)> {
    let name = folded(place.file_name().unwrap_or_default());
    if name.starts_with(".envrc") {
        return vec![(place.to_owned(), false)];
    }
    let is_mise = place.ancestors().any(|it| it.ends_with("mise"))
        || name.contains("mise")
        || name.contains(".rtx");
    if !is_mise {
        return Vec::new();
    }
    if !place.is_dir() {
        let is_settings = name.ends_with(".toml");
        return Vec::from_iter(is_settings.then(|| (place.to_owned(), true)));
    }
    let folders = [place.to_owned(), place.join("conf.d")];
    let entries = folders
        .iter()
        .flat_map(|it| std::fs::read_dir(it).into_iter().flatten().flatten());
    let files = entries.map(|entry| entry.path());
    let files = files.filter(|file| file.extension().is_some_and(|it| it == "toml"));
    files.map(|file| (file, true)).collect()
}

/// Variables of a script: with their values, or none where only the shell knows those.
type Assigned<'a> = BTreeMap<&'a str, Option<String>>;

/// The statements of a script of direnv that may load files. What only sets variables to plain values loads nothing.
fn of_direnv(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Vec<LoadingText> {
    let text = HERE
        .iter()
        .fold(text.replace("\\\n", " "), |text, it| text.replace(it, "."));
    let statements = || {
        text.split(['\n', ';', '&', '|'])
            .map(str::trim)
            .filter(|it| !it.starts_with('#'))
    };
    let mut assigned = Assigned::new();
    for statement in statements() {
        note_assigned(statement, &mut assigned, variable);
    }
    let loading = statements().filter(|it| !is_harmless(it));
    let read = loading.map(|statement| {
        let loads = LOADERS.contains(&program(statement));
        let (whole, is_open) = expanded(statement, &assigned, variable);
        let split = shlex::split(&whole).unwrap_or_default();
        let (folders, has_pattern) = folders_of_patterns(&split);
        LoadingText {
            folders: if loads { folders } else { BTreeSet::new() },
            is_untold: loads && (is_open || has_pattern),
            ..LoadingText::of(
                words(statement)
                    .into_iter()
                    .chain(words(&whole))
                    .chain(split),
            )
        }
    });
    read.collect()
}

/// The program of a statement.
fn program(statement: &str) -> &str {
    let mut words = statement
        .split_whitespace()
        .map(|it| it.trim_start_matches('\\'));
    words
        .find(|word| !BEFORE.contains(word))
        .unwrap_or_default()
}

/// Notes the variables that a statement sets.
fn note_assigned<'a>(
    statement: &'a str,
    assigned: &mut Assigned<'a>,
    variable: &dyn Fn(&str) -> Option<String>,
) {
    let words: Vec<&str> = statement.split_whitespace().collect();
    if let [.., "for" | "read", name, _] | [.., "for" | "read", name] = words[..] {
        assigned.insert(name, None);
    }
    if let Some(at) = words.iter().position(|it| *it == "for" || *it == "read") {
        assigned.extend(words.get(at + 1).map(|name| (*name, None)));
    }
    for word in words {
        let Some((name, value)) = word.split_once('=') else {
            continue;
        };
        let (value, is_open) = expanded(value, assigned, variable);
        let is_plain = !is_open && !statement.contains("$(") && !value.contains(['`', '*']);
        let value = is_plain.then(|| value.replace(['"', '\''], ""));
        assigned.insert(name, value);
    }
}

/// A text with the values of its variables, and whether one has a value that only the shell knows. One of which nothing is
/// known is empty, as it is for a shell.
fn expanded(
    text: &str,
    assigned: &Assigned<'_>,
    variable: &dyn Fn(&str) -> Option<String>,
) -> (String, bool) {
    let mut parts = text.split('$');
    let mut whole = parts.next().unwrap_or_default().to_owned();
    let mut is_open = false;
    for part in parts {
        let is_braced = part.starts_with('{');
        let inner = part.trim_start_matches('{');
        let end = inner.find(|it: char| !it.is_ascii_alphanumeric() && it != '_');
        let (name, rest) = inner.split_at(end.unwrap_or(inner.len()));
        let is_own =
            name.starts_with(|it: char| it.is_ascii_digit()) || part.starts_with(['@', '*']);
        match assigned.get(name) {
            Some(None) => is_open = true,
            Some(Some(value)) => whole += value,
            None if is_own => is_open = true,
            None => whole += &variable(name).unwrap_or_default(),
        }
        let rest = match is_braced {
            true => rest.split_once('}').map_or("", |(_, rest)| rest),
            false => rest,
        };
        whole += rest;
    }
    (whole, is_open)
}

/// The folders in which patterns among these words stand for names, and whether one does so in the folder itself.
fn folders_of_patterns(words: &[String]) -> (BTreeSet<String>, bool) {
    let patterns = words
        .iter()
        .filter_map(|word| Some((word, word.find(['*', '?'])?)));
    let above = patterns.map(|(word, at)| {
        let (above, _) = word[..at].rsplit_once('/')?;
        (above != ".").then(|| above.to_owned())
    });
    let (named, own): (Vec<_>, Vec<_>) = above.partition(Option::is_some);
    (named.into_iter().flatten().collect(), !own.is_empty())
}

/// Whether a statement of direnv's only watches, or sets variables to plain values.
fn is_harmless(statement: &str) -> bool {
    let runs = ["$(", "`", "<(", ">("]
        .iter()
        .any(|it| statement.contains(it));
    let mut words = statement.split_whitespace().peekable();
    if words.peek().is_some_and(|word| WATCHERS.contains(word)) {
        return !runs;
    }
    let is_setter = words.next_if(|word| SETTERS.contains(word)).is_some();
    let mut loaded = statement
        .split_whitespace()
        .filter_map(|it| it.split_once('='));
    !runs
        && !loaded.any(|(name, _)| LOADED_BY.contains(&name))
        && (is_setter || words.all(|word| word.contains('=')))
}

/// The values of settings of mise that may load files, or the whole text where it cannot be read.
fn of_mise(text: &str) -> Vec<LoadingText> {
    let text = HERE
        .iter()
        .fold(text.to_owned(), |text, it| text.replace(it, "."));
    let Ok(table) = text.parse::<Table>() else {
        return vec![LoadingText::of(words(&text).into_iter())];
    };
    // Values, and those of them that are files to load.
    let (mut values, mut loaded) = (Vec::new(), Vec::new());
    for (key, value) in &table {
        match key.as_str() {
            later if LATER.contains(&later) => {}
            "env" | "vars" => add_variables(value, &mut values, &mut loaded),
            "watch_files" => add_strings(value, &["patterns"], &mut values),
            _ => add_strings(value, &[], &mut values),
        }
    }
    let plain = values
        .iter()
        .map(|value| LoadingText::of(words(value).into_iter()));
    let loaded = loaded.iter().map(|value| {
        let (folders, has_pattern) = folders_of_patterns(&[(*value).to_owned()]);
        LoadingText {
            folders,
            is_untold: has_pattern || (value.contains("{{") && !value.starts_with(['/', '~'])),
            ..LoadingText::of(words(value).into_iter().chain([(*value).to_owned()]))
        }
    });
    plain.chain(loaded).collect()
}

/// Adds what the variables of settings load: those of a plain value nothing.
fn add_variables<'a>(value: &'a Value, values: &mut Vec<&'a str>, loaded: &mut Vec<&'a str>) {
    match value {
        Value::Array(all) => all.iter().for_each(|it| add_variables(it, values, loaded)),
        Value::Table(table) => {
            for (name, value) in table {
                match (name.as_str(), value) {
                    ("_" | "mise", value) => add_strings(value, &["path"], loaded),
                    (name, value) if LOADED_BY.contains(&name) => add_strings(value, &[], loaded),
                    (_, Value::String(text)) if !text.contains("{{") => {}
                    (_, value) => add_strings(value, &[], values),
                }
            }
        }
        _ => {}
    }
}

/// Adds all strings of a value but those of keys that are left out.
fn add_strings<'a>(value: &'a Value, left_out: &[&str], values: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => values.push(text),
        Value::Array(all) => all.iter().for_each(|it| add_strings(it, left_out, values)),
        Value::Table(table) => {
            let kept = table
                .iter()
                .filter(|(key, _)| !left_out.contains(&key.as_str()));
            kept.for_each(|(_, value)| add_strings(value, left_out, values));
        }
        _ => {}
    }
}

impl LoadingText {
    /// What these words may load.
    fn of(words: impl Iterator<Item = String>) -> Self {
        let mut all = BTreeSet::new();
        for word in words {
            if word.starts_with("dotenv") {
                all.insert(USUAL.to_owned());
            }
            // A variable may stand for the folder.
            let below = word.split_once('/').map(|(_, below)| below.to_owned());
            all.extend(below.filter(|below| !below.is_empty()));
            all.insert(word);
        }
        Self {
            words: all,
            ..Self::default()
        }
    }
}

/// The words of a text, whatever signs stand around them.
fn words(text: &str) -> Vec<String> {
    let is_plain = |it: char| it.is_alphanumeric() || "/._-+@%~".contains(it);
    let words = text.split(|it| !is_plain(it));
    words
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::sandbox::place_search::{ListedFolders, guarded};

    #[cfg(unix)]
    #[test]
    fn what_settings_of_a_folder_load_is_found() {
        for (file, text, expected) in [
            (".envrc", "dotenv\n", &[".env"][..]),
            (
                ".envrc",
                "use x\ndotenv_if_exists .env.local\n",
                &[".env", ".env.local"],
            ),
            (".envrc", "eval \"$(direnv dotenv bash .env)\"\n", &[".env"]),
            (
                ".envrc",
                "source_env \"$PWD/tool/env.sh\"\n",
                &["tool/env.sh"],
            ),
            (
                ".envrc",
                ". ./tool/env.sh; source $(pwd)/.env\n",
                &[".env", "tool/env.sh"],
            ),
            (
                ".envrc",
                "if [ -f .env ]; then source \\\n tool/env.sh; fi\n",
                &[".env", "tool/env.sh"],
            ),
            (".envrc", "export $(grep -v '^#' .env | xargs)\n", &[".env"]),
            (".envrc", "eval \"$(./tool/env.sh)\"\n", &["tool/env.sh"]),
            (".envrc", "A=1 ./tool/env.sh\n", &["tool/env.sh"]),
            (".envrc", "direnv_load tool/env.sh\n", &["tool/env.sh"]),
            (
                ".envrc",
                "# tool/env.sh\nA=.env B=tool/env.sh\nPATH_add tool\n",
                &[],
            ),
            (".envrc", "watch_file tool/env.sh\nexport A=.env\n", &[]),
            (
                "mise.toml",
                "[env]\n_.file = ['.env', \".env.local\"]\n",
                &[".env", ".env.local"],
            ),
            (
                ".mise.toml",
                "[env]\n_.source = \"tool/env.sh\"\n",
                &["tool/env.sh"],
            ),
            (
                "mise.toml",
                "[env]\n_.file = [\n  '.env',\n  '.env.local',\n]\n_.path = 'tool'\nA = '.env'\n",
                &[".env", ".env.local"],
            ),
            (
                "mise.toml",
                "[env]\nA = \"{{exec(command='sh tool/env.sh')}}\"\n[tasks.a]\nrun = 'cat .env.local'\n",
                &["tool/env.sh"],
            ),
            (
                "mise.toml",
                "[hooks]\nenter = 'sh tool/env.sh'\n[[watch_files]]\npatterns = ['.env.local']\nrun = 'cat .env'\n",
                &[".env", "tool/env.sh"],
            ),
            ("mise.toml", "[env\n_.file = '.env'\n", &[".env"]),
            (
                ".rtx.toml",
                "[env]\n_.source = \"\"\"\n.env\"\"\"\n",
                &[".env"],
            ),
            (
                ".envrc",
                "export SPARK_HOME=$PWD/tool; source $SPARK_HOME/env.sh\n",
                &["tool/env.sh"],
            ),
            (
                ".envrc",
                "F=./tool/env.sh; eval \"$(sh $F)\"\n",
                &["tool/env.sh"],
            ),
            (".envrc", "cd tool; source env.sh\n", &["tool/env.sh"]),
            (".envrc", "source tool/*.sh\n", &["tool"]),
            (
                ".envrc",
                "export BASH_ENV=$PWD/tool/env.sh\n",
                &["tool/env.sh"],
            ),
            (
                ".envrc",
                "PATH_add \"$(./tool/env.sh)\"\n",
                &["tool/env.sh"],
            ),
            (
                "mise/config.toml",
                "[env]\n_.source = 'tool/env.sh'\n",
                &["tool/env.sh"],
            ),
            (
                ".mise/config.toml",
                "[env]\nBASH_ENV = 'tool/env.sh'\n",
                &[".mise", "tool/env.sh"],
            ),
            ("notes.toml", "[env]\n_.file = '.env'\n", &[]),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            fs::create_dir(root.join("tool")).unwrap();
            for name in [".env", ".env.local", "tool/env.sh"] {
                fs::write(root.join(name), "").unwrap();
            }
            fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
            fs::write(root.join(file), text).unwrap();
            let writable = [root.clone()];
            let mut found = guarded(&root, &writable, &ListedFolders::default());
            add(&mut found, &writable);
            let named = found.paths().map(|path| path.strip_prefix(&root).unwrap());
            let named: Vec<_> = named.filter(|path| !path.ends_with(file)).collect();
            let expected: Vec<_> = expected.iter().map(Path::new).collect();
            assert_eq!(named, expected, "{file}: {text}");
        }
    }

    #[test]
    fn what_has_no_known_name_asks() {
        for (file, text, expected) in [
            (
                ".envrc",
                "for f in one two; do source \"$f.sh\"; done\n",
                true,
            ),
            (".envrc", "F=$(ls *.sh); source $F\n", true),
            (".envrc", "source ./*.sh\n", true),
            (".envrc", "source $1\n", true),
            // What people write.
            (".envrc", "F=.env.shared; source $F\n", false),
            (".envrc", "F=.env; dotenv_if_exists $F\n", false),
            (".envrc", ". \"$HOME/.cargo/env\"\nsource ~/x\n", false),
            (".envrc", "source \"$(pwd)/gone.sh\"\n", false),
            (
                ".envrc",
                "export NVM_DIR=\"$HOME/.nvm\"\n[ -s \"$NVM_DIR/nvm.sh\" ] && \\. \"$NVM_DIR/nvm.sh\"\n",
                false,
            ),
            (".envrc", "source /opt/ros/$ROS_DISTRO/setup.bash\n", false),
            (
                ".envrc",
                "source $(conda info --base)/etc/profile.d/conda.sh\n",
                false,
            ),
            (
                ".envrc",
                "source \"$(poetry env info --path)/bin/activate\"\n",
                false,
            ),
            (
                ".envrc",
                "find . -name $X\nuse flake .#${SHELL_NAME:-default}\n",
                false,
            ),
            (
                ".envrc",
                "echo \"Loading . from $PWD\"\nlog_status \"source of $FOO\"\n",
                false,
            ),
            ("mise.toml", "[env]\n_.source = '{{vars.a}}.sh'\n", true),
            (
                "mise.toml",
                "[env]\n_.file = '{{config_root}}/gone'\n",
                false,
            ),
            ("mise.toml", "[hooks]\nenter = 'echo hi $USER'\n", false),
            (
                "mise.toml",
                "[env]\nKUBECONFIG = \"{{cwd}}/kube\"\nDB = \"x://{{env.USER}}@y\"\n",
                false,
            ),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            fs::write(root.join(".env"), "").unwrap();
            fs::write(root.join(file), text).unwrap();
            let writable = [root.clone()];
            let mut found = guarded(&root, &writable, &ListedFolders::default());
            add(&mut found, &writable);
            let untold = OpenGap::Untold(root.join(file));
            assert_eq!(found.gaps.contains(&untold), expected, "{file}: {text}");
        }
    }
}
