//! What is expected of a log: for each prefix some views of it, in lines. A view is kept as what changed since the
//! last prefix that has it.

use std::{collections::BTreeMap, fmt::Write};

use similar::{DiffTag, TextDiff};

/// What the program makes of a prefix.
pub(super) struct Prefix {
    /// Its number of lines, and what happened in the last.
    pub(super) name: String,
    /// The lines of each view, by its name.
    pub(super) views: BTreeMap<&'static str, Vec<String>>,
}

/// What is kept: the name of each prefix, and the views as they are from there on.
pub(super) struct Expected(Vec<(String, Kept)>);

type Kept = BTreeMap<String, Vec<String>>;

/// Differences that are shown; the rest is counted.
const SHOWN: usize = 6;

impl Expected {
    /// The text that says this of the prefixes.
    pub(super) fn text(prefixes: &[Prefix]) -> String {
        let mut text = String::new();
        let mut last: BTreeMap<&str, &[String]> = BTreeMap::new();
        for prefix in prefixes {
            let _ = writeln!(text, "# {}", prefix.name);
            for (name, lines) in &prefix.views {
                let before = last.insert(name, lines).unwrap_or_default();
                if before != lines {
                    let _ = write!(text, "## {name}\n{}", changes(before, lines));
                }
            }
        }
        text
    }

    /// Reads such a text.
    pub(super) fn read(text: &str) -> Self {
        let mut all: Vec<(String, Kept)> = Vec::new();
        let mut views = Kept::new();
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("# ") {
                all.push((name.to_owned(), views.clone()));
                continue;
            }
            let name = line.strip_prefix("## ").expect("a view");
            let changes = std::iter::from_fn(|| lines.next_if(|it| !it.starts_with('#')));
            let view = views.entry(name.to_owned()).or_default();
            *view = applied(view, changes);
            all.last_mut().expect("a prefix").1 = views.clone();
        }
        Self(all)
    }
}

/// How to come from one text to another: `@` and the line before which something changes, what goes, what comes.
fn changes(old: &[String], new: &[String]) -> String {
    let diff = similar::capture_diff_slices(similar::Algorithm::Myers, old, new);
    let mut text = String::new();
    for op in diff.iter().filter(|op| op.tag() != DiffTag::Equal) {
        let _ = writeln!(text, "@{}", op.old_range().start + 1);
        for line in &old[op.old_range()] {
            let _ = writeln!(text, "-{line}");
        }
        for line in &new[op.new_range()] {
            let _ = writeln!(text, "+{line}");
        }
    }
    text
}

fn applied<'a>(old: &[String], changes: impl Iterator<Item = &'a str>) -> Vec<String> {
    let (mut new, mut at) = (Vec::new(), 0);
    for change in changes {
        let (sign, line) = change.split_at(1);
        match sign {
            "@" => {
                let start = line.parse::<usize>().expect("the number of a line") - 1;
                new.extend_from_slice(&old[at..start]);
                at = start;
            }
            "-" => {
                assert_eq!(old[at], line, "what goes was not there");
                at += 1;
            }
            _ => new.push(line.to_owned()),
        }
    }
    new.extend_from_slice(&old[at..]);
    new
}

/// Where what is there is not what is expected, to be read by a person; nothing where it is.
pub(super) fn difference(expected: &Expected, actual: &[Prefix]) -> String {
    let kept: Vec<&str> = expected.0.iter().map(|(name, _)| name.as_str()).collect();
    let there: Vec<&str> = actual.iter().map(|prefix| prefix.name.as_str()).collect();
    assert_eq!(kept, there, "the prefixes are others");
    let mut found: Vec<String> = Vec::new();
    for ((name, kept), prefix) in expected.0.iter().zip(actual) {
        for (view, lines) in &prefix.views {
            let expected = kept.get(*view).map(Vec::as_slice).unwrap_or_default();
            if expected != lines {
                let (old, new) = (expected.join("\n") + "\n", lines.join("\n") + "\n");
                let diff = TextDiff::from_lines(&old, &new);
                let mut diff = diff.unified_diff();
                found.push(format!("# {name}: {view}\n{}\n", diff.context_radius(1)));
            }
        }
    }
    let more = found.len().saturating_sub(SHOWN);
    found.truncate(SHOWN);
    let mut text = found.concat();
    if more > 0 {
        let _ = writeln!(text, "… and {more} more");
    }
    text
}

#[test]
fn what_is_kept_is_read_back_and_differences_are_found() {
    let prefix = |name: &str, lines: &[&str]| Prefix {
        name: name.to_owned(),
        views: [(
            "page",
            lines.iter().map(|line| (*line).to_owned()).collect(),
        )]
        .into(),
    };
    let all = [
        prefix("1: a", &["a", "-b", "@c"]),
        prefix("2: b", &["a", "-b", "@c"]),
        prefix("3: c", &["0", "a", "@c", "", "## d", "# e"]),
        prefix("4: d", &[]),
    ];
    let text = Expected::text(&all);
    let kept = Expected::read(&text);
    assert_eq!(difference(&kept, &all), "", "{text}");
    let other = [
        prefix("1: a", &["a", "-b", "@c"]),
        prefix("2: b", &["a", "-b", "@c"]),
        prefix("3: c", &["0", "a", "@c", "## d", "# e"]),
        prefix("4: d", &["x"]),
    ];
    let found = difference(&kept, &other);
    assert!(
        found.contains("# 3: c: page\n") && found.contains("\n-\n"),
        "{found}"
    );
    assert!(
        found.contains("# 4: d: page\n") && found.contains("\n+x"),
        "{found}"
    );
}
