//! The commands and configurations of README.md and of the pages that it names, run as they stand there: by somebody who
//! has what they ask for, a key, a project with a change, and a picture.

use std::{fs, os::unix::fs::symlink, path::Path, process::Command};

use aside_model_server::{ServedApi, play::ModelReply, server::ModelServer};

use crate::world::{ASIDE, TestWorld};

/// What builds the program or the extension, or installs one: `tests/run` builds both.
const BUILDS: [&str; 4] = ["cargo ", "cd editors/", "code ", "npm "];

/// The pages for users, in the order in which their commands are run.
const PAGES: [&str; 7] = [
    "README.md",
    "editors/README.md",
    "server/config/README.md",
    "server/front/headless/README.md",
    "server/mcp/README.md",
    "server/provider/README.md",
    "server/tool/sandbox/README.md",
];

fn page(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn pages() -> String {
    PAGES.map(page).join("\n")
}

/// The blocks of this language.
fn blocks(language: &str) -> Vec<String> {
    let text = pages();
    let begin = format!("\n```{language}\n");
    let blocks = text.split(&begin).skip(1);
    let blocks = blocks.map(|rest| rest.split("\n```").next().unwrap().to_owned());
    blocks.collect()
}

/// A project with a change, and a picture.
fn project() -> TestWorld {
    let world = TestWorld::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::copy(root.join("tests/media/red.png"), world.at("menu.png")).unwrap();
    world.write("notes.md", "one\n");
    let git = |args: &[&str]| {
        let done = world.within("git", args).output().unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    git(&["add", "."]);
    let person = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"];
    git(&[&person[..], &["commit", "-qm", "Begin"]].concat());
    world.write("notes.md", "one\ntwo\n");
    world
}

/// A model that says what fits the schema that it is given.
fn model() -> ModelServer {
    ModelServer::start(|received| {
        let counts = String::from_utf8_lossy(&received.body).contains("\"bugs\"");
        let said = if counts { r#"{"bugs": 0}"# } else { "Done." };
        ModelReply::new("model")
            .text(said)
            .reply(ServedApi::Anthropic)
    })
}

/// A shell in the project, for which `aside` is the program under test.
fn shell(world: &TestWorld, model: &ModelServer) -> Command {
    let bin = world.folder().join("bin");
    fs::create_dir_all(&bin).unwrap();
    if !bin.join("aside").exists() {
        symlink(ASIDE, bin.join("aside")).unwrap();
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = world.within("setsid", &["sh", "-eu"]);
    shell
        .env("PATH", format!("{}:{path}", bin.display()))
        .env("ANTHROPIC_BASE_URL", model.url(ServedApi::Anthropic));
    shell
}

#[test]
fn every_command_does_what_it_says() {
    let (world, model) = (project(), model());
    let mut script = String::new();
    for line in blocks("sh").iter().flat_map(|block| block.lines()) {
        if !BUILDS.iter().any(|start| line.starts_with(start)) {
            script += &format!("{line}\necho 'done: {}' >&2\n", line.replace('\'', "'\\''"));
        }
    }
    assert!(script.contains("\naside run "), "{script}");
    let done = shell(&world, &model)
        .args(["-c", &script])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let turn: serde_json::Value = serde_json::from_str(&world.read("turn.json")).unwrap();
    assert_eq!(turn["answer"], "Done.");
    assert!(world.read("aside.bash").contains("aside"), "no completions");
}

/// A picture, the installation, a key, a first command and the editors come before all else.
#[test]
fn a_stranger_finds_first_what_a_stranger_needs() {
    let text = page("README.md");
    let lines = text.lines().count();
    assert!(lines <= 200, "{lines} lines");
    let mut at = 0;
    for next in [
        "# Aside",
        "![A session",
        "## Install",
        "cargo install --path .",
        "export ANTHROPIC_API_KEY=",
        "aside run \"",
        "aside doctor",
        "aside trust",
        "## In your editor",
        "code --install-extension",
        "aside completions",
        "AGENTS.md",
        "--schema",
        "CONTRIBUTING.md",
    ] {
        let found = text[at..].find(next);
        at +=
            found.unwrap_or_else(|| panic!("{next:?} is not there, or not where it is looked for"));
    }
    for page in &PAGES[1..] {
        assert!(text.contains(&format!("]({page}")), "no link to {page}");
    }
    for not in [
        "cargo bench",
        "cargo test --",
        "agent's turn",
        "nobody means no",
        "mode's business",
    ] {
        assert!(!text.contains(not), "{not:?} is nothing for a stranger");
    }
}

/// Files and headings that a page links to are there.
#[test]
fn every_link_leads_somewhere() {
    for name in PAGES {
        let text = page(name);
        for link in text.split("](").skip(1) {
            let link = link.split(')').next().unwrap();
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = Path::new(name).parent().unwrap().join(file);
            let target = Path::new(env!("CARGO_MANIFEST_DIR")).join(target);
            assert!(target.exists(), "{name} links to {link}");
            let has = |line: &str| {
                let title = line.trim_start_matches('#').trim().to_lowercase();
                line.starts_with('#') && title.replace(' ', "-").replace(':', "") == heading
            };
            assert!(
                heading.is_empty() || fs::read_to_string(&target).unwrap().lines().any(has),
                "{name} links to the heading {link}"
            );
        }
    }
}

/// What is built is built from what is there.
#[test]
fn what_builds_names_what_is_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    let all = blocks("sh").join("\n");
    for line in all.lines().filter(|line| line.contains("--profile ")) {
        let profile = line.split("--profile ").nth(1).unwrap();
        let profile = profile.split(' ').next().unwrap();
        assert!(manifest.contains(&format!("[profile.{profile}]")), "{line}");
    }
    assert!(root.join("editors/vscode/scripts/package").exists());
    assert!(root.join("editors/vscode/package-lock.json").exists());
}

/// `aside …` in the text is a command with flags that there are.
#[test]
fn every_command_in_the_text_is_known() {
    let world = TestWorld::new();
    let text = pages();
    let mut known = 0;
    for code in text.split('`').skip(1).step_by(2) {
        let Some(arguments) = code.strip_prefix("aside ") else {
            continue;
        };
        if arguments.contains(['\n', '"', '…']) {
            continue;
        }
        let words: Vec<&str> = arguments.split(' ').chain(["--help"]).collect();
        world.aside(&words).exits(0);
        known += 1;
    }
    assert!(known >= 5, "only {known} commands were found");
}

/// The file that a configuration says it is, and what is in it.
fn configurations() -> Vec<(String, String)> {
    let named = blocks("toml").into_iter().filter_map(|block| {
        let (first, _) = block.split_once('\n')?;
        let file = first.strip_prefix("# ")?.to_owned();
        Some((file, block))
    });
    named.collect()
}

#[test]
fn every_configuration_counts_where_it_says_that_it_does() {
    let all = configurations();
    assert_eq!(all.len(), 8, "{all:?}");
    for (file, text) in all {
        let world = TestWorld::new();
        match file.as_str() {
            "~/.config/aside/aside.toml" => world.user_config(&text),
            "aside.toml in the project" => {
                world.write("aside.toml", &text);
                world.aside(&["trust", "--yes"]).exits(0);
            }
            other => panic!("nobody knows the file {other:?}"),
        }
        let shown = world.aside(&["config", "show"]);
        assert_eq!((shown.code, shown.stderr.as_str()), (0, ""), "{text}");
        for line in text.lines().filter(|line| line.contains(" = ")) {
            let (key, _) = line.split_once(" = ").unwrap();
            assert!(shown.stdout.contains(key.trim()), "{key}: {}", shown.stdout);
        }
    }
}

#[test]
fn the_other_files_do_what_they_say() {
    let others: Vec<String> = blocks("toml")
        .into_iter()
        .filter(|block| !block.starts_with("# "))
        .collect();
    let [helix, script] = others.as_slice() else {
        panic!("{others:?}");
    };
    let helix: toml::Table = helix.parse().unwrap();
    let server = &helix["language-server"]["aside"];
    assert_eq!(server["command"].as_str(), Some("aside"));
    assert_eq!(server["args"].as_array().unwrap()[0].as_str(), Some("lsp"));
    let world = TestWorld::new();
    world.write("README.md", "# Aside\n");
    let run = world.run(script, &["--trust"]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "It is about Aside.\n"));
}
