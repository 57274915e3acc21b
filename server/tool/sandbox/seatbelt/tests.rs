//! Tests of profiles, by a reader of their rules that knows nothing of how they are made.

use std::{collections::BTreeSet, path::Path};

use aside_base::secrets::names;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{SearcherBuilder, sinks::Bytes};

use super::*;
use crate::sandbox::layout::ReadOnlyPlace;

/// Operations that the first version of the language allows until a rule denies them by name.
const BEYOND_DEFAULT: [&str; 6] = [
    "file-clone",
    "file-link",
    "file-map-executable",
    "file-test-existence",
    "process-info-pidinfo",
    "process-info-setcontrol",
];

/// A word, a string or a list of a profile.
#[derive(Debug)]
enum Part {
    Word(String),
    Text(String),
    List(Vec<Part>),
}

/// Reads parts up to the end of the list.
fn parts(rest: &mut &str) -> Vec<Part> {
    let mut all = Vec::new();
    loop {
        *rest = rest.trim_start();
        let Some(first) = rest.chars().next() else {
            return all;
        };
        match first {
            '(' => {
                *rest = &rest[1..];
                all.push(Part::List(parts(rest)));
            }
            ')' => {
                *rest = &rest[1..];
                return all;
            }
            '#' => {
                let (text, after) = rest[2..].split_once('"').unwrap();
                all.push(Part::Text(text.to_owned()));
                *rest = after;
            }
            '"' => all.push(Part::Text(string(rest))),
            _ => {
                let end = rest.find([' ', '\n', '(', ')']).unwrap();
                all.push(Part::Word(rest[..end].to_owned()));
                *rest = &rest[end..];
            }
        }
    }
}

fn string(rest: &mut &str) -> String {
    let mut text = String::new();
    let mut letters = rest.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => text.push(letters.next().unwrap().1),
            '"' => {
                *rest = &rest[at + 1..];
                return text;
            }
            letter => text.push(letter),
        }
    }
    panic!("a string without an end: {rest}")
}

/// What fits a rule.
enum Filter {
    All(Vec<Filter>),
    Any(Vec<Filter>),
    Subpath(String),
    Literal(String),
    Regex(Box<RegexMatcher>),
    /// Of folders, whose paths end in a slash where a test means them.
    Folder,
    /// Of other things than paths.
    Other,
}

impl Filter {
    fn of(part: &Part) -> Self {
        let Part::List(all) = part else {
            panic!("no filter: {part:?}");
        };
        let [Part::Word(word), rest @ ..] = &all[..] else {
            panic!("no filter: {all:?}");
        };
        let inner = || rest.iter().map(Self::of).collect();
        match (word.as_str(), rest) {
            ("require-all", _) => Self::All(inner()),
            ("require-any", _) => Self::Any(inner()),
            ("vnode-type", [Part::Word(kind)]) if kind == "DIRECTORY" => Self::Folder,
            ("subpath", [Part::Text(path)]) => Self::Subpath(path.clone()),
            ("literal", [Part::Text(path)]) => Self::Literal(path.clone()),
            ("regex", [Part::Text(pattern)]) => {
                let built = RegexMatcherBuilder::new().unicode(false).build(pattern);
                Self::Regex(Box::new(built.unwrap()))
            }
            _ => Self::Other,
        }
    }

    fn fits(&self, path: &str) -> bool {
        match self {
            Self::All(all) => all.iter().all(|it| it.fits(path)),
            Self::Any(all) => all.iter().any(|it| it.fits(path)),
            Self::Subpath(above) => Path::new(path).starts_with(above),
            Self::Literal(literal) => path == literal,
            Self::Folder => path.ends_with('/'),
            Self::Regex(matcher) => {
                let mut found = false;
                let sink = Bytes(|_, _| {
                    found = true;
                    Ok(false)
                });
                // A path is one text, with line breaks in it.
                let mut searcher = SearcherBuilder::new().multi_line(true).build();
                searcher
                    .search_slice(&**matcher, path.as_bytes(), sink)
                    .unwrap();
                found
            }
            Self::Other => false,
        }
    }
}

/// A rule: whether it allows, its operations, and what fits it.
struct Rule(bool, Vec<String>, Vec<Filter>);

fn rules(profile: &str) -> Vec<Rule> {
    let mut rest = profile;
    let all = parts(&mut rest).into_iter().filter_map(|part| {
        let Part::List(all) = part else {
            panic!("no rule: {part:?}");
        };
        let mut all = all.iter().peekable();
        let Some(Part::Word(word)) = all.next() else {
            panic!("no rule");
        };
        let mut operations = Vec::new();
        while let Some(Part::Word(operation)) = all.next_if(|it| matches!(it, Part::Word(_))) {
            operations.push(operation.clone());
        }
        let is_rule = word == "allow" || word == "deny";
        is_rule.then(|| Rule(word == "allow", operations, all.map(Filter::of).collect()))
    });
    all.collect()
}

/// Whether the last rule that fits allows it.
fn allows(rules: &[Rule], operation: &str, path: &str) -> bool {
    let is_beyond = BEYOND_DEFAULT.contains(&operation);
    let covers = |it: &String| match it.as_str() {
        "default" => !is_beyond,
        it => {
            let start = it.strip_suffix('*');
            it == operation || start.is_some_and(|start| operation.starts_with(start))
        }
    };
    let mut fitting = rules.iter().rev().filter(|Rule(_, operations, filters)| {
        operations.iter().any(covers)
            && (filters.is_empty() || filters.iter().any(|it| it.fits(path)))
    });
    fitting
        .next()
        .map_or(is_beyond, |Rule(is_allowed, ..)| *is_allowed)
}

fn layout(writable: &[&str], protected: &[&str], hidden: &[&str]) -> Layout {
    let paths = |all: &[&str]| all.iter().map(PathBuf::from).collect::<Vec<_>>();
    let protected = paths(protected).into_iter();
    Layout {
        writable: paths(writable),
        protected: protected.map(|it| (it, ReadOnlyPlace::FIXED)).collect(),
        hidden: paths(hidden).into_iter().collect(),
        ..Layout::default()
    }
}

fn rules_of(layout: &Layout) -> Vec<Rule> {
    rules(&profile(layout).unwrap())
}

/// A name at random: of the table, of a package manager, plain, or one of these in other letters.
fn some_name(random: &mut fastrand::Rng, table: &[&str]) -> String {
    let plain = ["a", "src", "x.rs", "target", "Straße", "gits", ".gi", "git"];
    let name = match random.u8(..4) {
        0 => plain[random.usize(..plain.len())].to_owned(),
        1 => package_names()[random.usize(..package_names().len())].to_owned(),
        _ => table[random.usize(..table.len())].to_owned(),
    };
    let star = ["", "x", "-2", ".y"][random.usize(..4)];
    let name = name.replace('*', star);
    match random.u8(..6) {
        0 => name.to_uppercase(),
        1 => name.replacen('s', "ſ", 1).replacen('k', "\u{212a}", 1),
        2 => name
            .replace("fi", "ﬁ")
            .replace("st", "ﬆ")
            .replace("ss", "ß"),
        _ => name,
    }
}

/// Whether the table protects a path of the workspace, by its own reading of names.
fn is_protected(inner: &str) -> bool {
    let names: Vec<String> = names(Path::new(inner)).collect();
    let raw: Vec<&str> = inner.split('/').collect();
    let first = |is: &dyn Fn(usize) -> bool| (0..names.len()).find(|at| is(*at));
    let protected = first(&|at| fixed_above(&names[..=at]).is_some());
    // What is a package manager's is told by the letters as they are, and only what lies in it.
    let owned = first(&|at| at + 1 < raw.len() && package_names().contains(&raw[at]));
    match (protected, owned) {
        (Some(protected), Some(owned)) => protected < owned,
        (protected, _) => protected.is_some(),
    }
}

#[test]
fn a_profile_closes_what_the_table_protects_and_opens_the_rest() {
    let table: Vec<&str> = all_places().collect();
    for root in ["/Users/u/w", "/Users/jörg/a \"b\" \\c+(d)/w"] {
        let rules = rules_of(&layout(&[root], &[], &[]));
        let mut random = fastrand::Rng::with_seed(7);
        let (mut open, mut closed) = (0, 0);
        for _ in 0..1200 {
            let count = random.usize(1..4);
            let inner: Vec<String> = (0..count).map(|_| some_name(&mut random, &table)).collect();
            let inner = inner.join("/");
            let is_writable = allows(&rules, "file-write-data", &format!("{root}/{inner}"));
            // Rather too much is closed with letters that fold to plain ones, and the table's own reading drops dots at the end.
            let folds = inner.contains(['ſ', '\u{212a}', 'ﬁ', 'ﬆ', 'ß']);
            let is_odd = folds || inner.split('/').any(|name| name.ends_with('.'));
            match is_protected(&inner) {
                true => {
                    assert!(!is_writable, "{root}/{inner}");
                    closed += 1;
                }
                false => {
                    assert!(is_writable || is_odd, "{root}/{inner}");
                    open += 1;
                }
            }
        }
        assert!(open > 200 && closed > 200, "{open} {closed}");
        assert!(allows(
            &rules,
            "file-write-create",
            &format!("{root}/Straße")
        ));
        assert!(!allows(&rules, "file-write-create", &format!("{root}2/a")));
        assert!(!allows(
            &rules,
            "file-write-create",
            "/Users/u/W/node_modules/a"
        ));
    }
}

#[test]
fn no_letters_stand_in_a_pattern_that_may_be_read_in_several_ways() {
    let hidden = ["/Users/jörg/ﬁle", "/Users/jörg/Straße/ſ"];
    let text = profile(&layout(&["/Users/jörg/w"], &["/Users/jörg/w/ä"], &hidden)).unwrap();
    let mut patterns = text.split("(regex #\"").skip(1);
    assert!(patterns.all(|it| it.split('"').next().unwrap().is_ascii()));
}

#[test]
fn every_name_of_the_table_is_closed_in_other_letters() {
    let rules = rules_of(&layout(&["/w"], &[], &[]));
    for place in all_places() {
        let place = place.replace('*', "x");
        for (from, to) in [
            ("", ""),
            ("s", "ſ"),
            ("k", "\u{212a}"),
            ("ss", "ß"),
            ("ss", "sſ"),
            ("ff", "ﬀ"),
            ("fi", "ﬁ"),
            ("fl", "ﬂ"),
            ("st", "ﬆ"),
            ("st", "ﬅ"),
            ("ffi", "ﬃ"),
            ("ffi", "fﬁ"),
            ("ffi", "ﬀi"),
        ] {
            let other = place.replace(from, to);
            let other = format!("/w/a/{}", if from.is_empty() { &place } else { &other });
            assert!(!allows(&rules, "file-write-create", &other), "{other}");
            let other = format!("{}/x", other.to_uppercase().replace("/W/A", "/w/a"));
            assert!(!allows(&rules, "file-write-create", &other), "{other}");
        }
    }
}

#[test]
fn a_line_break_in_a_name_opens_nothing() {
    let rules = rules_of(&layout(&["/w"], &[], &[]));
    for path in [
        "/w/a\nb/.git/config",
        "/w/a/\n/.vscode",
        "/w/.git/a\nb/node_modules/c",
    ] {
        assert!(!allows(&rules, "file-write-create", path), "{path:?}");
    }
    for path in ["/w/a\nb/c", "/w/a\nb/node_modules/.git"] {
        assert!(allows(&rules, "file-write-create", path), "{path:?}");
    }
}

#[test]
fn what_the_default_does_not_reach_is_closed_by_name() {
    let text = profile(&layout(&["/w"], &[], &["/h/.ssh"])).unwrap();
    let further = opened(Path::new("/t"), None).unwrap();
    for text in [text.clone(), format!("{text}{further}")] {
        let rules = rules(&text);
        // A clone of a folder has all that lies in it, and a file is read for one.
        for (operation, path, is_open) in [
            ("file-link", "/w/a", false),
            ("file-link", "/t/a", false),
            ("file-clone", "/h/", false),
            ("file-clone", "/w/sub/", false),
            ("file-clone", "/w/a", true),
            ("file-read-data", "/h/.ssh/id", false),
            ("process-info-pidinfo", "", false),
            ("process-info-setcontrol", "", false),
        ] {
            assert_eq!(
                allows(&rules, operation, path),
                is_open,
                "{operation} {path}"
            );
        }
    }
}

#[test]
fn places_beside_the_table_cannot_be_written_nor_moved() {
    let root = "/Users/jörg/w";
    let places = ["/Users/jörg/w/tools/häkchen", "/Users/jörg/w/bare/hooks"];
    let further = ["/Users/jörg/.npm/x/.git", "/Users/jörg/.npm/y"];
    let all: Vec<&str> = places.iter().chain(&further[..1]).copied().collect();
    let rules = rules_of(&layout(&[root, "/Users/jörg/.npm"], &all, &[]));
    let writes = |path: &str| allows(&rules, "file-write-data", path);
    for place in &all {
        assert!(!writes(place) && !writes(&format!("{place}/a")), "{place}");
        assert!(!writes(
            &place
                .to_uppercase()
                .replace('Ö', "O\u{308}")
                .replace('Ä', "A\u{308}")
        ));
        assert!(writes(&format!("{place}2")), "{place}");
        let above = Path::new(place).parent().unwrap().to_str().unwrap();
        assert!(!allows(&rules, "file-write-unlink", above), "{above}");
        assert!(writes(&format!("{above}/a")), "{above}");
    }
    for folder in [root, "/Users/jörg/.npm"] {
        assert!(!allows(&rules, "file-write-unlink", folder));
    }
    // Beside the workspace, only what is there is closed.
    assert!(writes("/Users/jörg/.npm/y/.git"));
    assert!(allows(&rules, "file-write-unlink", further[1]));
    assert!(!writes("/Users/jörg/.ssh/id") && !writes("/tmp/a"));
}

#[test]
fn a_place_in_a_folder_of_a_package_manager_is_closed_if_it_was_found() {
    let place = "/w/node_modules/x/.husky";
    let rules = rules_of(&layout(&["/w"], &[place], &[]));
    assert!(!allows(
        &rules,
        "file-write-data",
        &format!("{place}/pre-commit")
    ));
    assert!(allows(
        &rules,
        "file-write-data",
        "/w/node_modules/y/.husky/pre-commit"
    ));
}

#[test]
fn hidden_places_cannot_be_read() {
    let hidden = ["/Users/u/.ssh", "/Users/u/Kässe/ﬁle", "/Users/u/w/.env"];
    let rules = rules_of(&layout(&["/Users/u/w"], &[], &hidden));
    let others = [
        "/Users/u/.SSH/id",
        "/users/u/.ſſh/id",
        "/Users/u/.ssh",
        "/Users/u/Ka\u{308}sse/ﬁle/a",
        "/Users/u/kässe/ﬁle",
        "/Users/u/w/.env",
        "/System/Volumes/Data/Users/u/.ssh/id",
        "/dev/ttys004",
    ];
    for path in others {
        for operation in ["file-read-data", "file-read-metadata", "file-write-data"] {
            assert!(!allows(&rules, operation, path), "{operation} {path}");
        }
    }
    for path in ["/Users/u/.ssh2", "/Users/u/w/.envs", "/etc/hosts"] {
        assert!(allows(&rules, "file-read-data", path), "{path}");
    }
    assert!(!allows(&rules, "file-write-unlink", "/Users/u/w"));
}

#[test]
fn nothing_else_is_open() {
    let text = profile(&layout(&["/w"], &[], &[])).unwrap();
    let rules = rules(&format!(
        "{text}{}",
        opened(Path::new("/t"), Some(4711)).unwrap()
    ));
    assert!(allows(&rules, "file-write-create", "/t/.git"));
    assert!(!allows(&rules, "file-write-unlink", "/t"));
    for operation in [
        "file-write-setugid",
        "file-link",
        "job-creation",
        "lsopen",
        "appleevent-send",
        "mach-register",
        "user-preference-write",
        "sysctl-write",
        "ipc-posix-shm-write-create",
        "network-outbound",
        "network-bind",
    ] {
        assert!(!allows(&rules, operation, "/t/a"), "{operation}");
    }
    let networks: BTreeSet<&str> = text.lines().filter(|it| it.contains("network")).collect();
    assert_eq!(networks, BTreeSet::new());
    assert!(!text.contains("no-sandbox"));
}

#[test]
fn a_path_that_cannot_be_spelled_is_refused() {
    for path in ["/w/a\nb", "/w/\u{1b}"] {
        assert_eq!(profile(&layout(&[path], &[], &[])), Err(path.into()));
        assert_eq!(opened(Path::new(path), None), Err(path.into()));
        // To deny it, any letters will do.
        let rules = rules_of(&layout(&["/w"], &[path], &[]));
        assert!(!allows(&rules, "file-write-unlink", "/w"));
    }
    let strange = "/w/\") (allow default) (\"";
    let rules = rules_of(&layout(&[strange], &[strange], &[strange]));
    assert!(!allows(&rules, "file-write-data", strange));
    assert!(!allows(&rules, "file-write-data", "/etc/hosts"));
}
