//! The commands beside `run`, as a user gives them: the real program, with a home of its own.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use aside_model_server::server::{ModelServer, ServedReply};
use serde_json::json;

/// A user with an empty home and one workspace.
struct User {
    home: tempfile::TempDir,
}

impl User {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("work")).unwrap();
        Self { home }
    }

    /// Puts a file into the home.
    fn write(&self, path: &str, text: &str) {
        let path = self.home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What a command line writes: standard output, then standard error by lines that begin with `!`, then the
    /// exit code where it is not 0. The home is `~`.
    fn says(&self, line: &[&str]) -> String {
        self.in_folder("work", line)
    }

    fn in_folder(&self, folder: &str, line: &[&str]) -> String {
        let home = self.home.path();
        let output = Command::new(env!("CARGO_BIN_EXE_aside"))
            .args(line)
            .current_dir(home.join(folder))
            .env_clear()
            .env("HOME", home)
            .env("XDG_STATE_HOME", home.join("state"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut said = String::from_utf8(output.stdout).unwrap();
        for note in String::from_utf8(output.stderr).unwrap().lines() {
            said += &format!("! {note}\n");
        }
        match output.status.code() {
            Some(0) => {}
            code => said += &format!("exit {code:?}\n"),
        }
        said.replace(home.canonicalize().unwrap().to_str().unwrap(), "~")
    }

    fn check(&self, line: &[&str], expected: &str) {
        assert_eq!(self.says(line), expected, "{line:?}");
    }

    /// Asserts that a command says something among other things.
    fn includes(&self, line: &[&str], expected: &[&str]) {
        let said = self.says(line);
        for part in expected {
            assert!(
                said.contains(part),
                "{line:?} does not say {part:?}:\n{said}"
            );
        }
    }
}

#[test]
fn a_conversation_is_listed_shown_and_deleted() {
    let user = User::new();
    let none = "! There is no conversation in this workspace yet; `aside run` starts one.\n";
    user.check(&["conversation", "list"], none);
    let run = [
        "run",
        "--model",
        "rehearsal/hello",
        "Hi\x1b[2J there\nand more",
    ];
    let hello = "Hello! This is a rehearsal: no model was asked, a script answered.\n";
    assert!(user.says(&run).starts_with(hello));

    let list = user.says(&["conversation", "list"]);
    let words: Vec<&str> = list.split_whitespace().collect();
    assert_eq!(words[1..4], ["idle", "1", "turn"], "{list}");
    assert!(
        list.ends_with(" there\n") && !list.contains('\x1b'),
        "{list}"
    );
    let id = words[0];
    user.includes(
        &["conversation", "show"],
        &["> Hi there\n> and more\n", hello],
    );
    user.check(&["conversation", "rename", id, "Greeting"], "");
    user.includes(&["conversation", "export", id], &["# Greeting\n"]);
    let fork = user.says(&["conversation", "fork", id, "--turn", "1"]);
    user.includes(&["conversation", "list"], &[id, fork.trim_end()]);
    user.check(&["conversation", "delete", id], &format!("Deleted {id}.\n"));
    user.check(
        &["conversation", "show", id],
        &format!(
            "! aside: there is no conversation {id}; `aside conversation list` shows those that there are\nexit Some(2)\n"
        ),
    );
}

#[test]
fn what_a_run_changed_is_undone() {
    let user = User::new();
    user.write("work/a.txt", "one\n");
    user.write(
        "script.toml",
        "[[reply]]\nwhen = { step = 1 }\n\
         say = [{ call = \"read_file\", arguments = { path = \"a.txt\" } }]\n\
         [[reply]]\nwhen = { step = 2 }\n\
         say = [{ call = \"edit_file\", arguments = { path = \"a.txt\", old_text = \"one\", new_text = \"two\" } }]\n\
         [[reply]]\nsay = [{ text = \"Done.\" }]\n",
    );
    let script = format!(
        "rehearsal/{}",
        user.home.path().join("script.toml").display()
    );
    let run = [
        "run", "--trust", "--mode", "edits", "--model", &script, "Edit",
    ];
    let text = || fs::read_to_string(user.home.path().join("work/a.txt")).unwrap();
    assert!(user.says(&run).starts_with("Done.\n"));
    assert_eq!(text(), "two\n");
    user.check(
        &["conversation", "undo"],
        "Undid the changes of the last turn:\n  a.txt  restored\n",
    );
    assert_eq!(text(), "one\n");
    user.includes(
        &["conversation", "show"],
        &["Changed: `a.txt`.", "Undone: `a.txt`."],
    );
}

#[test]
fn a_value_is_shown_with_its_layer() {
    let user = User::new();
    user.write(
        "config/aside/aside.toml",
        "assistant.model = 'rehearsal/hello'\n",
    );
    user.check(
        &["config", "show", "assistant.model"],
        "assistant.model = \"rehearsal/hello\"  # from user file ~/config/aside/aside.toml:1\n",
    );
    user.check(
        &["config", "show", "assistant.modle"],
        "! aside: unknown key `assistant.modle`; did you mean `assistant.model`?\nexit Some(2)\n",
    );
    user.includes(
        &["config", "show"],
        &["conversation.limits.steps = 100  # from built-in\n"],
    );
    let schema = user.says(&["config", "schema"]);
    let schema: serde_json::Value = serde_json::from_str(&schema).unwrap();
    assert_eq!(schema["title"], "aside.toml");
    user.write("config/aside/aside.toml", "assistant.modle = 'x'\n");
    user.check(
        &["config", "show"],
        "! aside: ~/config/aside/aside.toml:1: unknown key `assistant.modle`; did you mean `assistant.model`?\n\
         exit Some(2)\n",
    );
}

#[test]
fn trust_is_given_ends_and_is_taken_back() {
    let user = User::new();
    user.write(
        "work/aside.toml",
        "assistant.system_prompt = 'Be a parrot.'\nunsandboxed = true\n",
    );
    let shown = ["config", "show", "assistant.system_prompt"];
    let ignored = "# assistant.system_prompt is not set\n";
    assert!(user.says(&shown).starts_with(ignored));
    user.check(
        &["trust"],
        "! aside: ~/work was not trusted, because nobody can confirm without a terminal; run `aside trust` in one, \
         or add --yes\n\
         exit Some(2)\n",
    );
    assert!(user.says(&shown).starts_with(ignored));
    user.check(
        &["trust", "--yes"],
        "~/work is trusted.\n\
         These settings of ~/work/aside.toml count from now on:\n\
         \x20 assistant.system_prompt = \"Be a parrot.\"  # from workspace file ~/work/aside.toml:1\n\
         Only you can set these, so they do not count: unsandboxed\n\
         Tools may change files and run commands here, as the mode allows. The trust ends when aside.toml or a \
         program that it names changes, or with `aside trust --revoke`.\n",
    );
    assert!(
        user.says(&shown)
            .starts_with("assistant.system_prompt = \"Be a parrot.\"")
    );
    user.write("work/aside.toml", "assistant.system_prompt = 'Be a cat.'\n");
    assert!(user.says(&shown).starts_with(ignored));
    user.check(
        &["trust", "--revoke"],
        "~/work is not trusted, and has no permanent approvals.\n",
    );
    assert!(user.says(&shown).starts_with(ignored));
}

#[test]
fn a_doctor_says_what_is_wrong() {
    let user = User::new();
    user.includes(
        &["doctor"],
        &[
            "ok       aside 0.1.0 on ",
            "ok       state directory: ~/state/aside is writable\n",
            "ok       configuration: no aside.toml found\n",
            "warning  workspace: ~/work is not trusted",
            "warning  model: there is no model: none of ANTHROPIC_API_KEY",
            "warning  sandbox: it does not work here: bubblewrap is not installed",
            "ok       conversations: 0 in this workspace\n",
        ],
    );
    user.write(
        "config/aside/aside.toml",
        "assistant.model = 'rehearsal/hello'\n",
    );
    user.says(&["trust", "--yes"]);
    let said = user.says(&["doctor"]);
    assert!(
        said.contains("ok       configuration: ~/config/aside/aside.toml\n"),
        "{said}"
    );
    assert!(
        said.contains("ok       workspace: ~/work is trusted\n"),
        "{said}"
    );
    assert!(said.contains("ok       model: rehearsal/hello\n"), "{said}");
    assert!(!said.contains("exit"), "{said}");

    user.write(
        "config/aside/aside.toml",
        "assistant.model = 'rehearsal/none.toml'\n",
    );
    user.includes(
        &["doctor"],
        &[
            "error    model: ",
            "! aside: one problem was found; it is marked error\nexit Some(1)\n",
        ],
    );
    user.write("config/aside/aside.toml", "a = 1\nb = 2\n");
    user.includes(
        &["doctor"],
        &[
            "error    ~/config/aside/aside.toml:1: unknown key `a`",
            "error    ~/config/aside/aside.toml:2: unknown key `b`",
            "! aside: 2 problems were found; they are marked error\nexit Some(1)\n",
        ],
    );
}

#[test]
fn a_doctor_finds_the_other_form_of_an_address() {
    let server = ModelServer::start(|received| match received.path.split('?').next() {
        Some("/v1/models") => ServedReply::json(200, json!({"data": [{"id": "m"}]})),
        _ => ServedReply::json(404, json!({"error": {"message": "Not found."}})),
    });
    let address = format!("http://{}", server.address());
    let longer = format!("{address}/v1");
    let user = User::new();
    user.says(&["trust", "--yes"]);
    for (api, given, right) in [
        ("openai-chat", &address, &longer),
        ("openai-responses", &address, &longer),
        ("anthropic", &longer, &address),
    ] {
        let config = |base: &str| {
            let base = format!("[providers.mine]\napi = '{api}'\nbase_url = '{base}'\n");
            user.write("config/aside/aside.toml", &base);
        };
        config(given);
        let other = format!("{right} does; set providers.mine.base_url to {right}\n");
        user.includes(&["doctor"], &["error    provider: mine at ", &other]);
        config(right);
        let said = user.says(&["doctor"]);
        assert!(said.contains("ok       provider: mine at "), "{said}");
        assert!(!said.contains("exit"), "{said}");
    }
}

#[test]
fn a_folder_that_is_not_there_is_bad_usage() {
    let user = User::new();
    let said = user.in_folder(".", &["--cwd", "none", "conversation", "list"]);
    assert!(said.starts_with("! aside: "), "{said}");
    assert!(said.ends_with("exit Some(2)\n"), "{said}");
    assert!(!Path::new(&user.home.path().join("state")).exists());
}

#[test]
fn models_are_listed_and_shells_complete() {
    let user = User::new();
    user.includes(
        &["model", "list"],
        &["rehearsal/demo      200K       -          -       -        -\n"],
    );
    user.includes(&["completions", "bash"], &["_aside()"]);
    assert!(!user.home.path().join("state").exists());
}
