//! Rules that hold for every built-in tool, tried on each by its schema alone. A new tool is covered without being named.

use aside_base::digest::sha256;
use aside_turn::{
    call::permit::{Facts, Permit, permit},
    input::{Preparation, Prepared, ToolOutcome},
    record::CallKey,
    rules::{Class, DetachedMode, Mode, RunRule},
};
use serde_json::{Map, Value, json};

use super::{
    BUILT_IN_FILES, BuiltIn, ToolSpec, count_lines::CountLines, registry::Registry,
    trial::ToolTrial,
};

/// Word of every secret file.
const SECRET: &str = "hunter2";
/// Word of a file that is put in the place of another.
const OTHER: &str = "another";

/// The built-in tools, and the one of CONTRIBUTING, whose author thinks neither of secrets nor of approvals.
fn registry() -> Registry {
    let mut registry = Registry::builtin();
    registry.add(CountLines::tool()).unwrap();
    registry
}

/// Each tool with each of its arguments that is a text.
fn texts() -> Vec<(ToolSpec, String)> {
    let registry = registry();
    let specs = registry.iter().map(|tool| tool.spec().clone());
    let texts = specs.flat_map(|spec| {
        let properties = spec.parameters["properties"].as_object().cloned();
        let is_text = |about: &Value| {
            let kind = &about["type"];
            let kinds = kind
                .as_array()
                .cloned()
                .unwrap_or_else(|| vec![kind.clone()]);
            kinds.contains(&json!("string")) && about.get("enum").is_none()
        };
        let names = properties.unwrap_or_default().into_iter();
        let names = names.filter(move |(_, about)| is_text(about));
        names
            .map(|(name, _)| (spec.clone(), name))
            .collect::<Vec<_>>()
    });
    texts.collect()
}

/// The texts that are paths of files: what leads outside is refused.
async fn paths() -> Vec<(ToolSpec, String)> {
    let mut paths = Vec::new();
    for (spec, argument) in texts() {
        let outside = arguments(&spec, &argument, "../outside");
        if let Preparation::Error(_) = trial().prepare(&spec.name, outside).await {
            paths.push((spec, argument));
        }
    }
    paths
}

/// Arguments that fit the schema, with this text for one of them. Other texts are the name of their argument.
fn arguments(spec: &ToolSpec, argument: &str, text: &str) -> Value {
    fn example(name: &str, schema: &Value) -> Value {
        if let Some(options) = schema["enum"].as_array() {
            return options[0].clone();
        }
        match schema["type"].as_str() {
            Some("string") => name.into(),
            Some("integer" | "number") => schema.get("minimum").cloned().unwrap_or(json!(1)),
            Some("boolean") => true.into(),
            Some("array") => json!([example(name, &schema["items"])]),
            Some("object") => json!({}),
            other => panic!("a schema of another type: {other:?}"),
        }
    }
    let mut all = Map::new();
    let required = spec.parameters["required"].as_array().cloned();
    for name in required.unwrap_or_default() {
        let name = name.as_str().unwrap();
        let schema = &spec.parameters["properties"][name];
        all.insert(name.to_owned(), example(name, schema));
    }
    all.insert(argument.to_owned(), text.into());
    all.into()
}

/// A line with a word in which every argument is found that [`arguments`] makes.
fn line(word: &str) -> String {
    let names = texts().into_iter().map(|(_, name)| name);
    format!("{word} {}\n", names.collect::<Vec<_>>().join(" "))
}

/// A workspace with secrets, ways to them, and files without.
fn trial() -> ToolTrial {
    let (secret, plain) = (line(SECRET), line("plain"));
    let mut trial = ToolTrial::new(&[
        (".env", &secret),
        ("sub/.env", &secret),
        ("sub/server.key", &secret),
        ("plain.txt", &plain),
        ("other.txt", &line(OTHER)),
    ]);
    trial.registry = registry();
    trial.link("link.txt", ".env");
    trial.link("sub/link.txt", "../.env");
    trial.link("folder", "sub");
    // The model has read what it may change.
    let hash = sha256(plain.as_bytes());
    trial.context.seen().note("plain.txt", &hash);
    trial
}

/// Whether the call would run without a person, in the mode that asks least.
fn runs_unasked(prepared: &Prepared) -> bool {
    let facts = Facts {
        mode: Mode::Auto,
        run: Some(RunRule::Unattended),
        in_client: false,
        class: prepared.class,
        trusted: true,
        sandboxed: prepared.sandboxed,
        must_ask: prepared.must_ask.as_deref(),
        approved: prepared.approved,
        permitted: false,
        attached: true,
        detached: DetachedMode::Stop,
    };
    permit(&facts) == Permit::Run
}

/// Reads of a file, by anybody, since this was made.
struct Reads(rustix::fd::OwnedFd);

impl Reads {
    fn of(trial: &ToolTrial, paths: &[&str]) -> Self {
        use rustix::fs::inotify::{CreateFlags, WatchFlags, add_watch, init};
        let watch = init(CreateFlags::NONBLOCK).unwrap();
        for path in paths {
            let path = trial.context.files.root().join(path);
            add_watch(&watch, path, WatchFlags::ACCESS).unwrap();
        }
        Self(watch)
    }

    fn any(&self) -> bool {
        rustix::io::read(&self.0, &mut [0_u8; 4096]).is_ok()
    }
}

#[tokio::test]
async fn no_tool_returns_or_reads_a_file_with_secrets_unasked() {
    let ways = [
        ".env",
        "./.env",
        "sub/../.env",
        "sub/.env",
        "sub/server.key",
        "link.txt",
        "sub/link.txt",
        "folder/.env",
        "<root>/.env",
    ];
    let (mut asked, mut unasked) = (0, 0);
    for (spec, argument) in texts() {
        for way in ways {
            let trial = trial();
            let reads = Reads::of(&trial, &[".env", "sub/.env", "sub/server.key"]);
            let root = trial.context.files.root().to_string_lossy().into_owned();
            let args = arguments(&spec, &argument, &way.replace("<root>", &root));
            let prepared = trial.prepare(&spec.name, args.clone()).await;
            let mut shown = format!("{prepared:?}");
            match prepared {
                Preparation::Ready(prepared) if runs_unasked(&prepared) => {
                    unasked += 1;
                    shown += &format!("{:?}", trial.run(&spec.name, args.clone()).await);
                }
                Preparation::Ready(_) => asked += 1,
                _ => {}
            }
            let call = format!("{} {args}", spec.name);
            assert!(!shown.contains(SECRET), "{call} told it: {shown}");
            assert!(!reads.any(), "{call} read it");
        }
    }
    // Three tools read files at least, and some arguments are no path.
    assert!(asked >= 3 * ways.len(), "{asked} calls asked");
    assert!(unasked > ways.len(), "{unasked} calls did not ask");
}

#[tokio::test]
async fn a_tool_reads_a_file_with_secrets_once_it_was_allowed_to() {
    let mut readers = Vec::new();
    for (spec, argument) in texts() {
        let trial = trial();
        let args = arguments(&spec, &argument, ".env");
        if let Preparation::Ready(prepared) = trial.prepare(&spec.name, args.clone()).await
            && prepared.class == Class::Reads
            && prepared.must_ask.as_deref() == Some(".env may hold secrets")
        {
            let reads = Reads::of(&trial, &[".env"]);
            let outcome = trial.run_text(&spec.name, args).await;
            let did = outcome.starts_with("ok: ") && reads.any();
            assert!(did, "{}: {outcome}", spec.name);
            readers.push(spec.name);
        }
    }
    assert!(readers.contains(&"read_file".to_owned()), "{readers:?}");
    assert!(readers.contains(&"count_lines".to_owned()), "{readers:?}");
}

#[tokio::test]
async fn no_tool_runs_on_a_file_that_was_exchanged_after_it_was_shown() {
    let mut tried = 0;
    for (spec, argument) in paths().await {
        for (shown, put) in [
            ("plain.txt", ".env"),
            ("plain.txt", "other.txt"),
            (".env", "sub/server.key"),
            (".env", "other.txt"),
        ] {
            let trial = trial();
            let args = arguments(&spec, &argument, shown);
            let Preparation::Ready(_) = trial.prepare(&spec.name, args.clone()).await else {
                continue;
            };
            tried += 1;
            trial.remove(shown);
            trial.link(shown, put);
            let reads = Reads::of(&trial, &[put]);
            let outcome = trial.run(&spec.name, args.clone()).await;
            let call = format!("{} {args}, exchanged for {put}", spec.name);
            let is_refused = matches!(outcome, ToolOutcome::Error(_));
            assert!(is_refused, "{call}: {outcome:?}");
            assert!(!reads.any(), "{call} read it");
            let word = if put == "other.txt" { OTHER } else { SECRET };
            assert_eq!(trial.text(put), Some(line(word)), "{call} changed it");
        }
    }
    assert!(tried >= 10, "{tried}");
}

#[tokio::test]
async fn no_tool_changes_a_file_that_another_program_changed_after_it_was_shown() {
    let mut tried = 0;
    for (spec, argument) in paths().await {
        if spec.class != Class::Edits {
            continue;
        }
        let mut trial = trial();
        let args = arguments(&spec, &argument, "plain.txt");
        let Preparation::Ready(_) = trial.prepare(&spec.name, args.clone()).await else {
            continue;
        };
        let changed = format!("changed\n{}", line("plain"));
        trial.put("plain.txt", &changed);
        // Also if the model read it anew in another call.
        trial.call = CallKey(1);
        trial.call("read_file", json!({"path": "plain.txt"})).await;
        trial.call = CallKey(0);
        let outcome = trial.run(&spec.name, args).await;
        if trial.text("plain.txt") == Some(changed) {
            assert!(matches!(outcome, ToolOutcome::Error(_)), "{outcome:?}");
            tried += 1;
        } else {
            panic!("{} changed it: {outcome:?}", spec.name);
        }
    }
    assert!(tried >= 2, "{tried}");
}

#[tokio::test]
async fn no_tool_runs_a_call_that_was_not_prepared() {
    for (spec, argument) in texts() {
        let trial = trial();
        let args = arguments(&spec, &argument, "plain.txt");
        let outcome = trial.run(&spec.name, args).await;
        let is_refused = matches!(outcome, ToolOutcome::Error(_) | ToolOutcome::NeedsInput(_));
        assert!(is_refused, "{}: {outcome:?}", spec.name);
    }
}

#[test]
fn built_in_tools_reach_files_and_processes_through_their_plan_alone() {
    for (name, text) in BUILT_IN_FILES {
        let (code, _) = text.split_once("#[cfg(test)]").unwrap_or((text, ""));
        for way in [
            "fs::",
            "cap_std",
            "rustix",
            "Workspace",
            "std::process",
            "std::net",
            "tokio::",
        ] {
            assert!(!code.contains(way), "{name}.rs uses {way}");
        }
    }
}

#[test]
fn the_tool_of_contributing_is_one_that_these_tests_try() {
    let walk = include_str!("../../.github/CONTRIBUTING.md");
    assert!(walk.contains(include_str!("safety/count_lines.rs")));
}
