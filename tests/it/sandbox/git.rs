//! Git inside the sandbox where the user allows it: what it does every day works, and what it runs programs by stays.

use std::{fs, path::Path};

use super::ground::{
    SandboxGround, SandboxedCall, User, auto_run, program, script, script_of_steps, users,
};
use crate::world::{LONG, start, until_within};

/// As whom it commits, and nothing of the machine's own settings.
const GIT: &str = "export GIT_CONFIG_NOSYSTEM=1 GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a \
                   GIT_COMMITTER_EMAIL=a@b GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=safe.directory GIT_CONFIG_VALUE_0='*'; ";

const REPOSITORY: &str = "git init -q -b main . && echo 1 >f && git add f && git commit -qm first";

/// Runs a command line beside the walls, in a folder of the world.
fn prepare(ground: &SandboxGround, folder: &Path, command: &str) {
    fs::create_dir_all(folder).unwrap();
    let mut shell = ground
        .world
        .within("sh", &["-c", &format!("{GIT}{command}")]);
    start(shell.current_dir(folder)).end().exits(0);
}

fn call<'a>(id: &'a str, command: &str) -> SandboxedCall<'a> {
    SandboxedCall {
        id,
        command: format!("{GIT}{command}"),
        cwd: ".",
    }
}

/// What each of these commands is told, one turn each.
fn told(ground: &SandboxGround, commands: &[(&str, &str)]) -> Vec<String> {
    let calls: Vec<_> = commands
        .iter()
        .map(|(id, command)| call(id, command))
        .collect();
    ground.run(&calls, &["--mode", "auto"]).exits(0);
    let log = ground.world.log();
    commands
        .iter()
        .map(|(id, _)| log.told(id).to_owned())
        .collect()
}

fn ground(user: User) -> SandboxGround {
    let ground = SandboxGround::new(user);
    ground.world.user_config("[sandbox]\ngit = true\n");
    ground
}

#[test]
fn what_git_does_every_day_works_where_the_user_allows_it() {
    let every_day = "echo 2 >>f && git add f && git commit -qm second && echo 3 >>f && git stash -q && git stash pop -q \
                     && git commit -qam third && git switch -qc other && git switch -q main && git worktree add -q tree \
                     && cd tree && echo 4 >g && git add g && git commit -qm fourth && cd .. && git worktree remove tree \
                     && git merge -q tree && git tag v1 && git gc -q && git log --oneline | wc -l && git status --short";
    for user in users() {
        let ground = ground(*user);
        prepare(&ground, &ground.world.at(""), REPOSITORY);
        let told = told(&ground, &[("run", every_day)]);
        assert_eq!(told, ["Exit status 0.\n4"], "{user:?}");
    }
}

#[test]
fn what_git_runs_programs_by_stays_as_it_is() {
    let attacks = [
        (
            "hook",
            "echo x >.git/hooks/post-commit",
            "Read-only file system",
        ),
        ("hooks", "mv .git/hooks .git/h", "Device or resource busy"),
        (
            "config",
            "git config core.fsmonitor ./x",
            "Device or resource busy",
        ),
        (
            "config_written",
            "echo '[core]' >>.git/config",
            "Read-only file system",
        ),
        ("whole", "mv .git g", "Device or resource busy"),
        (
            "tree_config",
            "echo / >.git/worktrees/old/commondir",
            "Read-only file system",
        ),
        (
            "tree_moved",
            "mv .git/worktrees/old .git/worktrees/new",
            "Device or resource busy",
        ),
        (
            "submodule",
            "echo x >.git/modules/sub/hooks/update",
            "Read-only file system",
        ),
        (
            "submodule_moved",
            "mv .git/modules .git/m",
            "Device or resource busy",
        ),
        (
            "tree",
            "echo 'gitdir: /x' >old/.git",
            "Read-only file system",
        ),
    ];
    for user in users() {
        let ground = ground(*user);
        let work = ground.world.at("");
        let more =
            "git worktree add -q old && git init -q --bare .git/modules/sub && rm -rf .git/hooks";
        prepare(&ground, &work, &format!("{REPOSITORY} && {more}"));
        // Each is one that comes through where there are no walls.
        for (id, command, _) in attacks {
            let copy = ground.outside(id);
            prepare(
                &ground,
                &copy,
                &format!(
                    "cp -a {}/. . && mkdir -p .git/hooks && {command}",
                    work.display()
                ),
            );
        }
        let commands = attacks.map(|(id, command, _)| (id, command));
        for ((id, _, error), told) in attacks.iter().zip(told(&ground, &commands)) {
            assert!(told.contains(error), "{id} as {user:?}: {told}");
        }
        assert_eq!(fs::read_dir(work.join(".git/hooks")).unwrap().count(), 0);
    }
}

#[test]
fn what_a_command_makes_for_git_to_run_is_named() {
    let ground = ground(User::Same);
    prepare(&ground, &ground.world.at(""), REPOSITORY);
    let plants = "git worktree add -q tree && echo .. >.git/commondir && mkdir .git/rebase-merge && \
                  echo 'exec x' >.git/rebase-merge/git-rebase-todo; echo done";
    let told = told(&ground, &[("run", plants)]);
    let named = told[0].lines().next().unwrap();
    for place in [
        ".git/commondir (which was taken away again)",
        ".git/rebase-merge",
        ".git/worktrees/tree/commondir",
        "tree/.git",
    ] {
        assert!(named.contains(place), "{place}: {named}");
    }
}

#[test]
fn a_workspace_that_becomes_a_repository_is_named_and_its_settings_stay() {
    let makes = "git init -q --bare . && git config core.worktree . && echo done";
    let changes = "echo x >>config; echo x >hooks/pre-commit; git config core.bare false; echo end";
    for user in users() {
        let ground = SandboxGround::new(*user);
        let steps = [call("makes", makes), call("changes", changes)];
        let model = ground.world.script(&script_of_steps(&steps));
        ground.aside(&auto_run(&model, &[])).exits(0);
        let log = ground.world.log();
        let told = ["makes", "changes"].map(|id| log.told(id).to_owned());
        let named = told[0].lines().next().unwrap();
        assert!(
            named.ends_with("so tell the user: the workspace itself, branches, config, hooks"),
            "{user:?}: {told:?}"
        );
        assert!(told[0].ends_with("\ndone"), "{user:?}: {told:?}");
        assert_eq!(
            told[1].matches("Read-only file system").count(),
            2,
            "{told:?}"
        );
        let config = fs::read_to_string(ground.world.at("config")).unwrap();
        assert!(config.contains("bare = true"), "{config}");
    }
}

#[test]
fn no_repository_is_read_with_settings_that_a_command_wrote() {
    let plants = "cp -r .git evil && git config -f evil/config core.fsmonitor 'touch ../outside/ran; false' && \
                  echo ../evil >.git/commondir && rm -rf .git/objects .git/refs";
    for user in users() {
        let ground = ground(*user);
        let work = ground.world.at("");
        prepare(&ground, &work, REPOSITORY);
        // It comes through where there are no walls.
        let (copy, status) = (ground.outside("a/copy"), "git status >/dev/null");
        let planted = format!(
            "mkdir ../outside && cp -a {}/. . && {plants} && {status}",
            work.display()
        );
        prepare(&ground, &copy, &planted);
        assert!(ground.outside("a/outside/ran").exists(), "{user:?}");
        told(&ground, &[("run", plants)]);
        // Without its objects the folder is no repository, unless one lies above it.
        prepare(&ground, &work, &format!("{status} || [ $? = 128 ]"));
        assert!(!ground.outside("ran").exists(), "{user:?}");
        assert!(!work.join(".git/commondir").exists());
    }
}

#[test]
fn the_repository_of_a_worktree_can_be_written_as_far_as_commits_need_it() {
    for user in users() {
        let ground = ground(*user);
        let (main, work) = (ground.outside("main"), ground.world.at(""));
        prepare(
            &ground,
            &main,
            &format!(
                "{REPOSITORY} && git worktree add -q -b tree {}",
                work.display()
            ),
        );
        let told = told(
            &ground,
            &[
                (
                    "commit",
                    "echo 2 >>f && git add f && git commit -qm second && git stash list && echo done",
                ),
                ("hook", "echo x >../outside/main/.git/hooks/post-commit"),
                ("config", "echo x >>../outside/main/.git/config"),
                ("file", "echo x >>../outside/main/f"),
            ],
        );
        assert_eq!(told[0], "Exit status 0.\ndone", "{user:?}");
        for told in &told[1..] {
            assert!(told.contains("Read-only file system"), "{told}");
        }
    }
}

#[test]
fn without_the_user_s_word_nothing_of_git_is_written_and_why_is_said() {
    let ground = SandboxGround::new(User::Same);
    prepare(&ground, &ground.world.at(""), REPOSITORY);
    let told = told(&ground, &[("run", "echo 2 >>f && git add f")]);
    assert!(told[0].contains("Read-only file system"), "{told:?}");
    let why = "[The sandbox is why: it wants to write where the sandbox lets nothing write.]";
    assert!(told[0].ends_with(why), "{told:?}");
}

#[test]
fn a_cache_can_be_written_but_not_what_runs_from_it() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let home = ground.world.folder().join("home");
        for file in [
            ".cargo/config.toml",
            ".cargo/bin/tool",
            ".cargo/registry/old",
            ".npm/old",
        ] {
            fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
            fs::write(home.join(file), "").unwrap();
        }
        ground
            .world
            .user_config("[sandbox]\nwritable = ['~/.cargo', '~/.npm']\n");
        let told = told(
            &ground,
            &[
                (
                    "cache",
                    "echo x >~/.cargo/registry/new && echo x >~/.npm/new && echo written",
                ),
                ("settings", "echo x >~/.cargo/config.toml"),
                ("program", "echo x >~/.cargo/bin/tool"),
                ("new", "echo x >~/.cargo/env"),
            ],
        );
        // They run at once, so that what one makes may be named with another.
        assert!(told[0].ends_with("Exit status 0.\nwritten"), "{told:?}");
        for told in &told[1..3] {
            assert!(told.contains("Read-only file system"), "{told}");
        }
        let named = format!("{}/.cargo/env\n", home.display());
        assert!(told[3].contains(&named), "{}", told[3]);
    }
}

#[test]
fn what_git_replaces_outside_while_a_command_runs_is_named() {
    let ground = ground(User::Same);
    let world = &ground.world;
    prepare(
        &ground,
        &world.at(""),
        &format!("{REPOSITORY} && mkfifo go"),
    );
    let command = "echo x 2>/dev/null >>.git/config || echo held; : >ready; read line <go; echo '[a]' >>.git/config; echo end";
    let model = world.script(&script(&[call("run", command)]));
    let running = start(&mut ground.command(program(), &auto_run(&model, &[])));
    until_within(LONG, "a command", || world.at("ready").exists());
    prepare(&ground, &world.at(""), "git config b.c d && echo >go");
    running.end().exits(0);
    let log = world.log();
    let told = log.told("run");
    assert!(told.contains("so tell the user: .git/config\n"), "{told}");
    assert!(told.contains("held\n") && told.ends_with("end"), "{told}");
}
