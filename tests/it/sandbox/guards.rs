//! Protected places stay as they are, whatever else the tree holds and whatever stands at their names.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::{Path, PathBuf},
    process::Command,
};

use super::ground::{
    SandboxGround, SandboxedCall, User, auto_run, program, script, script_of_steps, users,
};
use super::survive::{End, cancelled, killed};
use crate::world::{start, until};

/// The page of the sandbox.
const PAGE: &str = include_str!("../../../server/tool/sandbox/README.md");

/// Files beside a protected place: more than were once looked at.
const MANY: usize = 60_000;

/// The results of the steps of one turn.
fn told(ground: &SandboxGround, commands: &[&str]) -> Vec<String> {
    let ids: Vec<String> = (0..commands.len()).map(|it| format!("step{it}")).collect();
    let calls = ids.iter().zip(commands).map(|(id, command)| SandboxedCall {
        id,
        command: (*command).to_owned(),
        cwd: ".",
    });
    let model = ground
        .world
        .script(&script_of_steps(&calls.collect::<Vec<_>>()));
    ground.hand_over();
    start(&mut ground.command(program(), &auto_run(&model, &[])))
        .end()
        .exits(0);
    let log = ground.world.log();
    ids.iter().map(|id| log.told(id).to_owned()).collect()
}

/// Runs a command outside of the sandbox, in the workspace.
#[track_caller]
fn outside(ground: &SandboxGround, command: &str) {
    let done = start(&mut ground.command(Path::new("sh"), &["-c", command])).end();
    assert_eq!(done.code, 0, "{command}: {done:?}");
}

/// Memory lists the newest files first, so that the order is certain.
fn in_memory() -> SandboxGround {
    match Path::new("/dev/shm").is_dir() {
        true => SandboxGround::below(Path::new("/dev/shm"), User::Same),
        false => SandboxGround::new(User::Same),
    }
}

#[test]
fn very_many_files_take_the_protection_from_nothing() {
    for folder in [".", "sub"] {
        let ground = in_memory();
        for file in [
            ".git/hooks/x",
            ".envrc",
            ".cargo/config.toml",
            ".vscode/tasks.json",
        ] {
            ground
                .world
                .write(&format!("{folder}/{file}"), "# harmless\n");
        }
        let many = format!(
            "cd {folder} && python3 -c 'for i in range({MANY}): open(\".f%d\" % i, \"w\").close()'"
        );
        let plant = format!(
            "cd {folder}; for f in .git/hooks/pre-commit .envrc .cargo/config.toml .vscode/tasks.json; \
             do echo evil >>$f; done; find . -name '.f*' -delete"
        );
        let told = told(&ground, &[&many, &plant]);
        assert_eq!(
            told[1].matches("Read-only file system").count(),
            4,
            "{told:?}"
        );
        assert!(!told[1].contains("Other programs take code"), "{told:?}");
        assert!(
            !ground
                .world
                .at(&format!("{folder}/.git/hooks/pre-commit"))
                .exists()
        );
    }
}

#[test]
fn as_many_protected_files_as_are_searched_unasked_are_all_read_only() {
    let write =
        "for f in *.code-workspace; do (echo evil >>$f) 2>/dev/null && echo wrote; done; echo end";
    // What is said of so many files, and whether a person would be asked.
    for (count, says) in [
        (1990, "Exit status 0.\nend"),
        (2500, "holds too many files"),
        (4000, "than bubblewrap can mount"),
    ] {
        let ground = in_memory();
        for nth in 0..count {
            ground.world.write(&format!("{nth}.code-workspace"), "{}\n");
        }
        let told = told(&ground, &[write]);
        assert!(
            told[0].contains(says) && !told[0].contains("wrote"),
            "{count}: {}",
            told[0]
        );
    }
}

/// Puts something with the same number at `$1`, made by `$2`, where the file system gives numbers out again.
const SAME: &str = "same() { i=$(stat -c %i $1); rm -r $1; $2 $1; [ $(stat -c %i $1) = $i ] && return; rm -r $1; \
    for n in $(seq 800); do $2 .n$n; [ $(stat -c %i .n$n) = $i ] && mv .n$n $1 && break; done; \
    [ -e $1 ] || $2 $1; rm -rf .n*; }; ";

/// A link at a protected name, and what a command does.
struct LinkedPlace {
    /// Folders and files that are there.
    files: &'static [&'static str],
    /// The link, and its text.
    link: (&'static str, &'static str),
    command: &'static str,
    /// A part of the result.
    says: &'static str,
    git: bool,
}

const NAMED: &str = "Other programs take code from what this made or replaced, so tell the user: ";
const ASKS: &str = "run_command needs approval";
const FIXED: &str = "Read-only file system";

const fn linked(
    files: &'static [&'static str],
    link: (&'static str, &'static str),
    command: &'static str,
    says: &'static str,
) -> LinkedPlace {
    LinkedPlace {
        files,
        link,
        command,
        says,
        git: false,
    }
}

const LINKED: &[LinkedPlace] = &[
    linked(
        &["vs/a"],
        (".vscode", "vs"),
        "same .vscode mkdir; echo evil >.vscode/tasks.json",
        ASKS,
    ),
    linked(
        &["vs/a"],
        (".vscode", "vs"),
        "echo evil >vs/tasks.json",
        ASKS,
    ),
    linked(
        &["vs/a"],
        (".vscode", "vs"),
        "mv vs v; mkdir vs; echo evil >vs/tasks.json",
        ASKS,
    ),
    linked(
        &["a/vs/a"],
        (".vscode", "a/vs"),
        "mv a b; mkdir -p a/vs; echo evil >a/vs/tasks.json",
        ASKS,
    ),
    linked(
        &["env"],
        (".envrc", "env"),
        "same .envrc touch; echo evil >.envrc",
        ASKS,
    ),
    linked(
        &["env"],
        (".envrc", "env"),
        "echo evil >.new; mv -f .new .envrc",
        ASKS,
    ),
    linked(
        &["env"],
        (".envrc", "env"),
        "echo evil >.new; mv -f .new env",
        ASKS,
    ),
    linked(
        &["c/config.toml"],
        (".cargo", "c"),
        "echo evil >c/config.toml",
        ASKS,
    ),
    linked(
        &["c/config.toml"],
        (".cargo", "c"),
        "rm .cargo; mkdir .cargo; echo evil >.cargo/config.toml",
        ASKS,
    ),
    linked(
        &["build/x"],
        (".envrc", "build/envrc"),
        "echo evil >build/envrc",
        ASKS,
    ),
    linked(
        &["build/x", ".cargo/x"],
        (".cargo/config.toml", "../build/c"),
        "echo evil >build/c",
        ASKS,
    ),
    linked(
        &[],
        (".vscode", "settings"),
        "mkdir settings; echo evil >settings/tasks.json",
        ASKS,
    ),
    linked(
        &[],
        (".vscode", "/nowhere/at/all"),
        "rm .vscode; mkdir .vscode",
        ASKS,
    ),
    linked(
        &["conf/a.toml"],
        ("aside.toml", "conf/a.toml"),
        "same aside.toml touch; echo '[x]' >aside.toml",
        ASKS,
    ),
    linked(
        &[".git/HEAD", "gh/a"],
        (".git/hooks", "../gh"),
        "echo evil >gh/pre-commit",
        FIXED,
    ),
    linked(
        &[".git/hooks/x", "s/h"],
        (".git/hooks/pre-commit", "../../s/h"),
        "echo evil >s/h",
        FIXED,
    ),
    linked(
        &[".vscode/x", "conf/tasks.json"],
        (".vscode/tasks.json", "../conf/tasks.json"),
        "echo evil >conf/tasks.json",
        FIXED,
    ),
    LinkedPlace {
        git: true,
        ..linked(
            &[".git/HEAD", ".git/objects/a", ".git/refs/a", "gh/a"],
            (".git/hooks", "../gh"),
            "cd .git; same hooks mkdir; echo evil >hooks/pre-commit",
            ASKS,
        )
    },
];

#[test]
fn what_a_link_at_a_protected_name_leads_to_stays_or_is_named_or_asks() {
    for (place, user) in LINKED
        .iter()
        .flat_map(|it| users().iter().map(move |user| (it, *user)))
    {
        let ground = SandboxGround::new(user);
        for file in place.files {
            ground.world.write(file, "# harmless\n");
        }
        let link = ground.world.at(place.link.0);
        symlink(place.link.1, &link).unwrap();
        if place.git {
            ground.world.user_config("[sandbox]\ngit = true\n");
        }
        let said = told(&ground, &[&format!("{SAME}{}", place.command)]).remove(0);
        let who = format!("{:?} and {} as {user:?}: {said}", place.link, place.command);
        assert!(said.contains(place.says), "{who}");
        if place.says != NAMED {
            let text = fs::read_to_string(&link).unwrap_or_default();
            assert!(link.is_symlink() && !text.contains("evil"), "{who}");
        }
    }
}

#[test]
fn a_folder_that_hides_what_a_command_made_is_named() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let told = told(&ground, &["mkdir -p a/x/.vscode && chmod 0 a/x; echo end"]);
        // Root reads it all the same.
        let named = ["a/x (which cannot be searched)", "a/x/.vscode"];
        let named = named.map(|name| format!("{NAMED}{name}\n"));
        assert!(named.iter().any(|it| told[0].contains(it)), "{told:?}");
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(ground.world.at("a/x"), open).unwrap();
    }
}

#[test]
fn a_folder_that_nobody_may_enter_makes_a_command_ask() {
    // Root may all the same.
    for user in users().iter().filter(|user| **user == User::Nobody) {
        for mode in [0o444, 0o311, 0o000] {
            let ground = SandboxGround::new(*user);
            ground.world.write("sub/.vscode/a", "");
            ground.hand_over();
            fs::set_permissions(ground.world.at("sub"), fs::Permissions::from_mode(mode)).unwrap();
            let model = ground.world.script(&script(&[SandboxedCall {
                id: "run",
                command: "chmod 755 sub; echo evil >sub/.vscode/tasks.json".to_owned(),
                cwd: ".",
            }]));
            start(&mut ground.command(program(), &auto_run(&model, &[]))).end();
            let log = ground.world.log();
            assert!(
                log.told("run").contains("`sub` cannot be searched"),
                "{mode:o}: {}",
                log.told("run")
            );
        }
    }
}

#[test]
fn a_file_that_package_managers_make_takes_no_repository_from_its_guard() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write("vendor/lib/.git/hooks/x", "");
    ground.world.write("vendor/lib/.git/HEAD", "");
    told(&ground, &["touch vendor/autoload.php vendor/modules.txt"]);
    // Another turn knows nothing of that.
    let again = SandboxedCall {
        id: "again",
        command: "echo evil >vendor/lib/.git/hooks/pre-commit; echo end".to_owned(),
        cwd: ".",
    };
    let state = ground.world.folder().join("later");
    let model = ground.world.script(&script(&[again]));
    let mut command = ground.command(program(), &auto_run(&model, &[]));
    start(command.env("XDG_STATE_HOME", &state)).end().exits(0);
    let hook = ground.world.at("vendor/lib/.git/hooks/pre-commit");
    assert!(!hook.exists());
}

#[test]
fn a_file_by_which_a_folder_is_no_longer_guarded_is_named_where_it_opens_something() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write("vendor/own/.vscode/tasks.json", "");
    ground.world.write("php/vendor/plain/x", "");
    let makes = "touch vendor/modules.txt php/vendor/autoload.php; echo end";
    let told = told(
        &ground,
        &[
            makes,
            "echo again",
            "echo evil >vendor/own/.vscode/tasks.json",
        ],
    );
    assert!(
        told[0].contains("tell the user: vendor/modules.txt\n"),
        "{told:?}"
    );
    assert_eq!(told[1], "Exit status 0.\nagain");
    assert!(told[2].contains("Read-only file system"), "{told:?}");
}

#[test]
fn a_prompt_says_what_cannot_be_protected() {
    let ground = SandboxGround::new(User::Same);
    symlink("build/envrc", ground.world.at(".envrc")).unwrap();
    let told = told(&ground, &["echo ran"]);
    let why = "the sandbox may leave files open that other programs execute: `.envrc` is a link to what a command \
               could create";
    assert!(told[0].contains(why), "{told:?}");
    assert!(!told[0].contains("ran"), "{told:?}");
    let model = ground.world.script(&script(&[SandboxedCall {
        id: "run",
        command: "echo ran".to_owned(),
        cwd: ".",
    }]));
    let mut strict = ground.command(program(), &auto_run(&model, &["--strict"]));
    start(&mut strict).end().exits(3).says(why);
}

#[test]
fn what_settings_of_git_name_stays_as_it_is() {
    let setups = [
        (
            "core.hooksPath",
            "git config core.hooksPath scripts/hooks",
            "scripts/hooks/pre-commit",
        ),
        (
            "include",
            "git config include.path ../scripts/more",
            "scripts/more",
        ),
        (
            "alias",
            "git config alias.x '!sh scripts/run'",
            "scripts/run",
        ),
        (
            "filter",
            "git config filter.x.clean 'scripts/run %f'",
            "scripts/run",
        ),
        (
            "monitor",
            "git config core.fsmonitor scripts/run",
            "scripts/run",
        ),
        (
            "link",
            "rmdir .git/hooks; ln -s ../scripts/hooks .git/hooks",
            "scripts/hooks/pre-commit",
        ),
    ];
    for ((name, setup, file), user) in setups
        .iter()
        .flat_map(|it| users().iter().map(move |user| (it, *user)))
    {
        let ground = SandboxGround::new(user);
        for file in ["scripts/hooks/x", "scripts/more", "scripts/run"] {
            ground.world.write(file, "");
        }
        ground.hand_over();
        outside(
            &ground,
            &format!("git init -q . && rm -rf .git/hooks && mkdir .git/hooks && {setup}"),
        );
        let plant = format!(
            "printf '#!/bin/sh\\ntouch ran\\n' >{file}; chmod +x {file}; mv scripts s; echo end"
        );
        let told = told(&ground, &[&plant]);
        assert!(
            told[0].contains(FIXED) && told[0].contains("busy"),
            "{name} as {user:?}: {told:?}"
        );
        let commit = "git -c user.name=n -c user.email=a@b commit -q --allow-empty -m mine";
        outside(&ground, commit);
        assert!(!ground.world.at("ran").exists(), "{name}");
    }
}

#[test]
fn a_rebase_and_settings_of_a_worktree_that_a_command_made_run_nothing() {
    let ground = SandboxGround::new(User::Same);
    ground.world.user_config("[sandbox]\ngit = true\n");
    outside(
        &ground,
        "git init -q . && git config user.name n && git config user.email a@b && \
         git config extensions.worktreeConfig true && git commit -q --allow-empty -m one",
    );
    let told = told(
        &ground,
        &[
            "printf '[core]\\nfsmonitor = \"touch ran; false\"\\n' >.git/config.worktree; echo end",
            "GIT_SEQUENCE_EDITOR='printf \"break\\nexec touch ran\\n\" >' git rebase -q -i --root; echo end",
        ],
    );
    assert!(told[0].contains(FIXED), "{told:?}");
    assert!(
        told[1].contains(".git/rebase-merge (without the programs that it would run)"),
        "{told:?}"
    );
    outside(&ground, "git status >/dev/null && git rebase --continue");
    assert!(!ground.world.at("ran").exists());
}

#[test]
fn what_a_command_made_in_a_repository_is_taken_back_also_where_aside_is_killed() {
    for (user, ends) in [(User::Same, killed as End), (User::Same, cancelled)] {
        let ground = SandboxGround::new(user);
        ground.world.user_config("[sandbox]\ngit = true\n");
        outside(&ground, "git init -q . && ln -s mine .git/mine");
        let call = SandboxedCall {
            id: "run",
            command: "ln -s ../../outside/f .git/COMMIT_EDITMSG; echo /x >.git/commondir; mkdir .git/rebase-merge; \
                      echo 'exec touch ran' >.git/rebase-merge/git-rebase-todo; touch made; exec sleep 1000"
                .to_owned(),
            cwd: ".",
        };
        let model = ground.world.script(&script(&[call]));
        ground.hand_over();
        let mut running = start(&mut ground.command(program(), &auto_run(&model, &[])));
        until("all is made", || ground.world.at("made").exists());
        let link = ground.world.at(".git/COMMIT_EDITMSG");
        assert!(link.is_symlink() && ground.world.at(".git/commondir").exists());
        ends(&mut running);
        let todo = ground.world.at(".git/rebase-merge/git-rebase-todo");
        until("all is taken back", || {
            !link.is_symlink()
                && !ground.world.at(".git/commondir").exists()
                && fs::read(&todo).is_ok_and(|text| text.is_empty())
        });
        assert!(
            ground.world.at(".git/mine").is_symlink(),
            "it was there before"
        );
    }
}

#[test]
fn what_is_beside_a_workspace_below_tmp_is_as_elsewhere() {
    let base = PathBuf::from("/tmp");
    for user in users() {
        let ground = SandboxGround::below(&base, *user);
        fs::write(ground.outside("f"), "beside\n").unwrap();
        let beside = "cat ../outside/f; echo x >../outside/g; echo x >../g; echo x >/tmp/own && cat /tmp/own; \
                      ls ../state/aside | wc -l";
        let made = Command::new("mkfifo").arg(ground.outside("pipe")).status();
        assert!(made.unwrap().success());
        // Nobody reads the pipe, and who could write into it is told so.
        let pipe =
            "python3 -c 'import os; os.open(\"../outside/pipe\", os.O_WRONLY | os.O_NONBLOCK)'";
        let told = told(&ground, &[beside, pipe]);
        assert!(told[1].contains("Permission denied"), "{told:?}");
        assert!(
            told[0].contains("beside\n") && told[0].contains("\nx\n"),
            "{told:?}"
        );
        assert_eq!(told[0].matches(FIXED).count(), 2, "{told:?}");
        // What is Aside's own is hidden there too.
        assert!(told[0].ends_with("\n0"), "{told:?}");
        assert!(!ground.outside("g").exists());
    }
}

/// The folders whose files use memory, as the page names them.
fn folders_in_memory() -> BTreeSet<String> {
    let page: Vec<&str> = PAGE.split_whitespace().collect();
    let page = page.join(" ");
    let (_, begun) = page.split_once("- Files in the private ").unwrap();
    let of = " use memory, each up to half of the machine's, until the command ends.";
    let (names, _) = begun.split_once(of).unwrap();
    let names = names.split('`').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

#[test]
fn memory_is_used_in_the_folders_that_the_page_names_until_the_command_ends() {
    let tries = "while read -r _ _ _ _ at rest; do case $rest in *' - tmpfs '*) \
                 if [ \"$(stat -c %m \"$at\" 2>/dev/null)\" = \"$at\" ] && (echo x >\"$at/probe\") 2>/dev/null; \
                 then echo \"$(stat -f -c '%b %S' \"$at\") $at\"; fi;; esac; done </proc/self/mountinfo";
    let about = fs::read_to_string("/proc/meminfo").unwrap();
    let total = about
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024;
    for user in users() {
        let ground = SandboxGround::new(*user);
        let names: Vec<String> = folders_in_memory().into_iter().collect();
        let left = format!("cd / && ls {}", names.join("/probe ") + "/probe");
        let told = told(&ground, &[tries, &left]);
        let mut found = BTreeSet::new();
        for line in told[0].lines().skip(1) {
            let [blocks, size, at] = line.splitn(3, ' ').collect::<Vec<_>>()[..] else {
                panic!("{told:?}");
            };
            // The workspace may lie in memory as well.
            if !Path::new(at).starts_with(ground.world.folder()) {
                let bytes = blocks.parse::<u64>().unwrap() * size.parse::<u64>().unwrap();
                assert!(bytes <= total / 2 + 4096, "{at}: {bytes} of {total}");
                found.insert(at.to_owned());
            }
        }
        assert_eq!(found, folders_in_memory(), "{user:?}: {told:?}");
        let gone = told[1].matches("No such file or directory").count();
        assert_eq!(gone, names.len(), "{told:?}");
    }
}
