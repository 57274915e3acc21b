//! Files of which not their names tell that other programs take code from them, but settings or links that lead there.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::ground::{
    SandboxGround, SandboxedCall, User, auto_run, program, script, script_of_steps, users,
};
use crate::world::start;

const FIXED: &str = "Read-only file system";

/// A variable of the environment.
type Variable = (&'static str, String);

/// Everything that a command in the sandbox says.
fn told(ground: &SandboxGround, variables: &[Variable], command: &str) -> String {
    let call = SandboxedCall {
        id: "run",
        command: command.to_owned(),
        cwd: ".",
    };
    let model = ground.world.script(&script(&[call]));
    ground.hand_over();
    let mut aside = ground.command(program(), &auto_run(&model, &[]));
    start(aside.envs(variables.iter().cloned())).end().exits(0);
    ground.world.log().told("run").to_owned()
}

/// Runs a command outside, in the workspace.
#[track_caller]
fn outside(ground: &SandboxGround, command: &str) {
    let done = start(&mut ground.command(Path::new("sh"), &["-c", command])).end();
    assert_eq!(done.code, 0, "{command}: {done:?}");
}

/// A repository with the files `tool/pre-commit`, `tool/x` and `gitconfig`.
fn repository(user: User) -> SandboxGround {
    let ground = SandboxGround::new(user);
    for file in ["tool/pre-commit", "tool/x", "gitconfig"] {
        ground.world.write(file, "");
    }
    ground.hand_over();
    outside(&ground, "git init -q .");
    ground
}

#[test]
fn settings_of_git_that_lie_elsewhere_or_are_spelled_otherwise_count() {
    const EVIL: &str = "echo evil >>tool/pre-commit; echo evil >>gitconfig; echo end";
    let check =
        |user: User, name: &str, prepare: &dyn Fn(&SandboxGround) -> Vec<Variable>, file: &str| {
            let ground = repository(user);
            let variables = prepare(&ground);
            let told = told(&ground, &variables, EVIL);
            let evil = fs::read_to_string(ground.world.at(file)).unwrap();
            assert!(
                told.contains(FIXED) && evil.is_empty(),
                "{name} as {user:?}: {told}"
            );
        };
    let at = |ground: &SandboxGround, path: &str| ground.world.at(path).display().to_string();
    for user in users() {
        check(
            *user,
            "nothing is named",
            &|ground| {
                outside(ground, "git config core.hooksPath tool");
                Vec::new()
            },
            "tool/pre-commit",
        );
        check(
            *user,
            "a link in the home",
            &|ground| {
                symlink(
                    ground.world.at("gitconfig"),
                    ground.world.at("../home/.gitconfig"),
                )
                .unwrap();
                Vec::new()
            },
            "gitconfig",
        );
        check(
            *user,
            "a file of a variable",
            &|ground| vec![("GIT_CONFIG_GLOBAL", at(ground, "gitconfig"))],
            "gitconfig",
        );
        check(
            *user,
            "settings of variables",
            &|_| {
                let pairs = [
                    ("GIT_CONFIG_COUNT", "1"),
                    ("GIT_CONFIG_KEY_0", "core.hooksPath"),
                    ("GIT_CONFIG_VALUE_0", "tool"),
                ];
                pairs.map(|(name, value)| (name, value.to_owned())).into()
            },
            "tool/pre-commit",
        );
        for path in ["%(prefix)/..", "~root/.."] {
            check(
                *user,
                path,
                &|ground| {
                    let folder = at(ground, "tool");
                    outside(
                        ground,
                        &format!("git config core.hooksPath '{path}{folder}'"),
                    );
                    Vec::new()
                },
                "tool/pre-commit",
            );
        }
    }
}

#[test]
fn a_line_of_an_alias_names_its_files_however_it_is_written() {
    for line in [
        "!sh tool/x",
        "!f() { sh ./tool/x; }; f",
        "!cd tool && ./x",
        "!\"$PWD\"/tool/x",
        "!a; ./tool/x",
        "!a=tool/x; $a",
    ] {
        let ground = repository(User::Same);
        outside(&ground, &format!("git config alias.y '{line}'"));
        let told = told(&ground, &[], "echo evil >tool/x; echo end");
        assert!(told.contains(FIXED), "{line}: {told}");
    }
}

/// A case of a file that a tool edits.
struct EditedFile {
    name: &'static str,
    prepare: &'static str,
    file: &'static str,
    asks: bool,
}

const EDITED: &[EditedFile] = &[
    EditedFile {
        name: "a file",
        prepare: "true",
        file: "hk/x",
        asks: false,
    },
    EditedFile {
        name: "the repository itself",
        prepare: "git config a.b c",
        file: ".git/HEAD",
        asks: true,
    },
    EditedFile {
        name: "a hook",
        prepare: "git config core.hooksPath hk",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "a new hook",
        prepare: "git config core.hooksPath hk",
        file: "hk/new",
        asks: true,
    },
    EditedFile {
        name: "a hook of a new folder",
        prepare: "git config core.hooksPath nk",
        file: "nk/new",
        asks: true,
    },
    EditedFile {
        name: "further settings",
        prepare: "git config include.path ../hk/x",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "a monitor",
        prepare: "git config core.fsmonitor hk/x",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "an alias",
        prepare: "git config alias.x '!./hk/x'",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "a linked hook",
        prepare: "ln -s ../../hk/x .git/hooks/pre-commit",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "a linked file",
        prepare: "ln -s hk/x .envrc",
        file: "hk/x",
        asks: true,
    },
    EditedFile {
        name: "another name",
        prepare: "echo old >.envrc && ln .envrc hk/y",
        file: "hk/y",
        asks: true,
    },
    EditedFile {
        name: "a linked folder",
        prepare: "ln -s hk .vscode",
        file: "hk/new",
        asks: true,
    },
];

#[test]
fn tools_ask_for_what_the_sandbox_protects() {
    for EditedFile {
        name,
        prepare,
        file,
        asks,
    } in EDITED
    {
        let ground = SandboxGround::new(User::Same);
        ground.world.write("hk/x", "old\n");
        outside(
            &ground,
            &format!("git init -q . && mkdir -p .git/hooks && {prepare}"),
        );
        let model = ground.world.script(&format!(
            "[[reply]]\nwhen = {{ step = 1 }}\nsay = [{{ call = 'read_file', id = 'read', arguments = {{ path = '{file}' }} }}]\n\
             [[reply]]\nwhen = {{ step = 2 }}\nsay = [{{ call = 'write_file', id = 'write', arguments = {{ path = '{file}', content = 'evil' }} }}]\n\
             [[reply]]\nsay = [{{ text = 'Done.' }}]\n"
        ));
        let run = [
            "run",
            "-m",
            &model,
            "Go",
            "--trust",
            "--non-interactive",
            "--mode",
            "edits",
        ];
        ground.aside(&run);
        let log = ground.world.log();
        let told = log.told("write");
        let text = fs::read_to_string(ground.world.at(file)).unwrap_or_default();
        let expected = (*asks, !*asks);
        assert_eq!(
            (told.contains("needs approval"), text.trim() == "evil"),
            expected,
            "{name}: {told}"
        );
    }
}

/// A server as settings name it, and as `printf` writes it.
const SERVER: &str = "[mcp.servers.planted]\\ncommand = \\\"sh\\\"\\nargs = [\\\"-c\\\", \\\"echo x >>started\\\"]\\n";

#[test]
fn settings_that_a_command_made_in_a_folder_count_for_nothing_there() {
    for folder in ["packages/x", "new"] {
        let ground = SandboxGround::new(User::Same);
        ground.world.write("packages/x/a", "");
        let plant =
            format!("mkdir -p {folder}; printf \"{SERVER}\" >{folder}/aside.toml; echo end");
        assert!(told(&ground, &[], &plant).contains(&format!("{folder}/aside.toml")));
        let model = ground
            .world
            .script("[[reply]]\nsay = [{ text = 'Done.' }]\n");
        let again = || {
            let mut command = ground.command(program(), &auto_run(&model, &[]));
            start(command.current_dir(ground.world.at(folder)))
                .end()
                .exits(0)
        };
        again().says("aside.toml").says("aside trust");
        assert!(!ground.world.at("../home/started").exists(), "{folder}");
        let mut trust = ground.command(program(), &["trust", "--yes"]);
        start(trust.current_dir(ground.world.at(folder)))
            .end()
            .exits(0);
        again();
        assert!(ground.world.at("../home/started").exists(), "{folder}");
    }
}

#[test]
fn no_command_makes_the_user_s_own_settings_behind_a_link() {
    for user in users() {
        let links: [(&str, &str); 2] = [
            ("config", "work/dot"),
            ("config/aside", "../work/dot/aside"),
        ];
        for (link, target) in links {
            let ground = SandboxGround::new(*user);
            let folder = ground.world.folder();
            ground.world.write("dot/x", "");
            if link == "config" {
                fs::remove_dir(folder.join(link)).unwrap();
            }
            symlink(target, folder.join(link)).unwrap();
            let told = told(
                &ground,
                &[],
                "mkdir -p dot/aside; echo '# evil' >dot/aside/aside.toml; echo end",
            );
            assert!(told.contains(FIXED), "{link} as {user:?}: {told}");
            assert!(!ground.world.at("dot/aside/aside.toml").exists());
        }
    }
}

#[test]
fn the_user_s_own_settings_may_be_a_link_to_a_protected_name() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write("dot/aside.toml", "");
    let own: PathBuf = ground.world.folder().join("config/aside");
    fs::create_dir_all(&own).unwrap();
    symlink(ground.world.at("dot/aside.toml"), own.join("aside.toml")).unwrap();
    let told = told(&ground, &[], "echo '# evil' >>dot/aside.toml; echo end");
    assert!(
        told.ends_with("end") && ground.world.read("dot/aside.toml").is_empty(),
        "{told}"
    );
}

#[test]
fn no_folder_of_the_settings_is_opened_that_a_command_exchanged() {
    let cases = [
        (
            "WORK/build/cache",
            "rm -rf build/cache; ln -s ~ build/cache",
        ),
        (
            "WORK/build/cache",
            "mv build b2; mkdir build; ln -s ~ build/cache",
        ),
        ("WORK/build/missing", "ln -s ~ build/missing"),
        ("HOME/a\", \"HOME/a/b", "rm -rf ~/a/b; ln -s ~ ~/a/b"),
        (
            "HOME/a\", \"HOME/a/c/d",
            "cd ~/a; mv c e; mkdir c; ln -s ~ c/d",
        ),
        // What is protected or hidden is not opened by a folder in it.
        ("WORK/.git/objects", "echo evil >.git/hooks/evil"),
        ("HOME/.kube/cache", "cat ~/.kube/config"),
    ];
    for ((folder, first), user) in cases
        .iter()
        .flat_map(|case| users().iter().map(move |user| (case, *user)))
    {
        let ground = SandboxGround::new(user);
        let (work, home) = (ground.world.at(""), ground.world.folder().join("home"));
        for path in [
            "build/cache/x",
            ".git/objects/x",
            ".git/refs/x",
            ".git/HEAD",
            ".git/hooks/x",
            "../home/a/b/x",
            "../home/a/c/d/x",
            "../home/.kube/cache/x",
        ] {
            ground.world.write(path, "");
        }
        ground.world.write("../home/.kube/config", "SECRET\n");
        let folder = folder.replace("WORK/", &format!("{}", work.display()));
        let folder = folder.replace("HOME", &home.display().to_string());
        ground
            .world
            .user_config(&format!("[sandbox]\nwritable = [\"{folder}\"]\n"));
        let calls = [
            ("first", *first),
            ("run", "echo evil >~/.profile; echo end"),
        ];
        let calls = calls.map(|(id, command)| SandboxedCall {
            id,
            command: command.to_owned(),
            cwd: ".",
        });
        let model = ground.world.script(&script_of_steps(&calls));
        ground.hand_over();
        start(&mut ground.command(program(), &auto_run(&model, &[])))
            .end()
            .exits(0);
        let log = ground.world.log();
        let who = format!(
            "{folder}, {first} as {user:?}: {} {}",
            log.told("first"),
            log.told("run")
        );
        assert!(!home.join(".profile").exists(), "{who}");
        assert!(
            !ground.world.at(".git/hooks/evil").exists() && !log.told("first").contains("SECRET"),
            "{who}"
        );
    }
}

#[test]
fn what_an_envrc_loads_stays_as_it_is_or_is_named() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        ground
            .world
            .write(".envrc", "dotenv\nsource_env_if_exists tool/env.sh\n");
        ground.world.write("tool/env.sh", "");
        let line = "echo evil >>tool/env.sh; echo PATH=evil >.env; echo x >.env.local; echo end";
        let told = told(&ground, &[], line);
        assert!(told.contains(FIXED), "{user:?}: {told}");
        assert!(
            told.contains("so tell the user: .env\n"),
            "{user:?}: {told}"
        );
        assert_eq!(
            fs::read_to_string(ground.world.at("tool/env.sh")).unwrap(),
            ""
        );
    }
}
