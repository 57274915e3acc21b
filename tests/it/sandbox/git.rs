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

/// What each of these commands is told, one after another in a turn.
fn told_in_steps(ground: &SandboxGround, commands: &[(&str, &str)]) -> Vec<String> {
    let steps: Vec<_> = commands
        .iter()
        .map(|(id, command)| call(id, command))
        .collect();
    let model = ground.world.script(&script_of_steps(&steps));
    ground.aside(&auto_run(&model, &[])).exits(0);
    let log = ground.world.log();
    let told = commands.iter().map(|(id, _)| log.told(id).to_owned());
    told.collect()
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
                    "cp -a '{}/.' . && mkdir -p .git/hooks && {command}",
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
            "mkdir ../outside && cp -a '{}/.' . && {plants} && {status}",
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
                "{REPOSITORY} && git worktree add -q -b tree '{}'",
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

/// What a command leaves in a repository, and what a person does there later, by which `ran` comes to lie beside it.
const WAYS_OUT: [(&str, &str, &str); 11] = [
    (
        ".git/index",
        "b=$(printf '#!/bin/sh\\ntouch ../outside/ran\\n' | git hash-object -w --stdin) && \
         git update-index --add --cacheinfo 100755,$b,xgit/hooks/pre-commit && sed -i s,xgit/hooks,.git/hooks, .git/index",
        "git restore . && git commit -q --allow-empty -m mine",
    ),
    (
        ".git/index",
        "b=$(git hash-object -w f) && git update-index --add --cacheinfo 100644,$b,xx/outside/ran && \
         sed -i s,xx/outside,../outside, .git/index",
        "git restore .",
    ),
    (
        ".git/COMMIT_EDITMSG",
        "echo theirs >.git/MERGE_MSG && git rev-parse HEAD >.git/MERGE_HEAD && ln -sf ../../outside/ran .git/COMMIT_EDITMSG",
        "GIT_EDITOR=true git commit --allow-empty -q",
    ),
    (
        ".git/logs/HEAD",
        "ln -sf ../../../outside/ran .git/logs/HEAD && git branch 'x;y'",
        "git switch -q 'x;y'",
    ),
    (
        ".git/logs",
        "mv .git/logs .git/l && ln -s ../../outside .git/logs && mkdir -p ../outside",
        "git switch -qc y && mv ../outside/HEAD ../outside/ran",
    ),
    (
        ".git/sequencer/opts",
        "mkdir git-merge-x .git/sequencer && printf '#!/bin/sh\ntouch ../outside/ran\n' >git-merge-x/y && chmod +x git-merge-x/y && \
         echo 2 >g && git add g && git commit -qm second && h=$(git rev-parse HEAD) && git reset -q --hard HEAD~ && \
         git rev-parse HEAD | tee .git/sequencer/head >.git/sequencer/abort-safety && \
         printf \"pick $h\npick $h\n\" >.git/sequencer/todo && printf '[options]\nstrategy = x/y\n' >.git/sequencer/opts",
        "{ git cherry-pick --skip; git cherry-pick --continue; } >/dev/null 2>&1 || :",
    ),
    (
        ".git/rebase-merge/strategy",
        "mkdir git-merge-x .git/rebase-merge && printf '#!/bin/sh\ntouch ../outside/ran\n' >git-merge-x/y && \
         chmod +x git-merge-x/y && echo 2 >g && git add g && git commit -qm second && h=$(git rev-parse HEAD) && \
         git reset -q --hard HEAD~ && echo 3 >f && git commit -qam third && cd .git/rebase-merge && \
         echo refs/heads/main >head-name && git rev-parse HEAD | tee onto >orig-head && echo \"pick $h\" >git-rebase-todo && \
         : >interactive && : >done && echo 1 >msgnum && echo 2 >end && echo x/y >strategy && cd ../..",
        "git rebase --continue >/dev/null 2>&1 || :",
    ),
    (
        ".git/MERGE_RR",
        "r=.git/rr-cache/$(printf %040d 7) && mkdir -p $r && cp .git/config $r/preimage && cp .git/config $r/postimage && \
         printf '[core]\n\tfsmonitor = \"touch ../outside/ran; false\"\n' >>$r/postimage && \
         printf '%040d.-1\t.git/config\\0' 7 >.git/MERGE_RR",
        "git commit -q --allow-empty -m mine 2>/dev/null && git status >/dev/null",
    ),
    (
        ".git/objects/info/commit-graph",
        "ln -s ../../../../outside/ran .git/objects/info/commit-graph && mkdir -p ../outside",
        "git commit-graph write --reachable",
    ),
    (
        ".git/objects/pack/multi-pack-index",
        "ln -s ../../../../outside/ran .git/objects/pack/multi-pack-index && mkdir -p ../outside",
        "git gc -q && git multi-pack-index write",
    ),
    (
        ".git/rebase-apply/apply-opt",
        "echo 2 >f && git commit -qam second && git format-patch -q -1 --stdout >p && git reset -q --hard HEAD~ && echo 3 >f && \
         git commit -qam third && { git am -q p >/dev/null 2>&1 || :; } && \
         b=$(git rev-parse HEAD:f) && printf '%s\n' 'diff --git a/f b/f' \"index $b..$b 100644\" '--- a/f' '+++ b/f' '@@ -1 +1 @@' \
         -3 +4 >.git/rebase-apply/patch && echo \" '--build-fake=../outside/ran'\" >.git/rebase-apply/apply-opt",
        "mkdir -p ../outside && git am --retry </dev/null >/dev/null 2>&1",
    ),
];

#[test]
fn what_a_command_leaves_in_a_repository_leads_git_nowhere_else() {
    for user in users() {
        for (place, plant, later) in WAYS_OUT {
            let ground = ground(*user);
            let work = ground.world.at("");
            prepare(&ground, &work, REPOSITORY);
            // It comes through where there are no walls.
            let copy = ground.outside("a/copy");
            let both = format!(
                "mkdir ../outside && cp -a '{}'/. . && {plant} && {later}",
                work.display()
            );
            prepare(&ground, &copy, &both);
            assert!(ground.outside("a/outside/ran").exists(), "{plant}");
            let inside = plant.replace(" && mkdir -p ../outside", "");
            let told = told(&ground, &[("run", &inside)]);
            let gone = match place {
                ".git/index" => "which is index.aside now",
                _ => "which was taken away again",
            };
            assert!(
                told[0].contains(&format!("{place} ({gone})")),
                "{user:?}: {told:?}"
            );
            // What a person staged is not lost with it.
            assert_eq!(
                work.join(".git/index.aside").exists(),
                place == ".git/index"
            );
            // What is left may be none that Git can go on with, and it need not.
            prepare(
                &ground,
                &work,
                &format!("{{ {later}; }} >/dev/null 2>&1 || :"),
            );
            assert!(!ground.outside("ran").exists(), "{user:?}: {plant}");
        }
    }
}

#[test]
fn a_link_of_the_user_s_in_a_repository_stays() {
    let ground = ground(User::Same);
    let work = ground.world.at("");
    let links =
        "ln -s ../../outside/notes .git/notes && rm .git/HEAD && ln -s refs/heads/main .git/HEAD";
    prepare(&ground, &work, &format!("{REPOSITORY} && {links}"));
    let told = told(
        &ground,
        &[("run", "echo 2 >>f && git commit -qam second && echo done")],
    );
    assert_eq!(told, ["Exit status 0.\ndone"]);
    assert!(work.join(".git/notes").is_symlink() && work.join(".git/HEAD").is_symlink());
}

#[test]
fn a_list_of_files_that_git_wrote_stays_in_whatever_form() {
    for (format, form) in [
        ("sha1", "git config index.version 4"),
        ("sha1", "git config index.threads 2"),
        (
            "sha1",
            "git config index.version 4 && git config index.threads 2",
        ),
        ("sha1", "git update-index --split-index"),
        ("sha1", "git sparse-checkout set --cone --sparse-index d"),
        ("sha256", "git config index.threads 2"),
    ] {
        let ground = ground(User::Same);
        let prepared = format!(
            "git init -q -b main --object-format={format} && mkdir d e && echo 1 | tee d/a d/ab e/b f >/dev/null && git add . && \
             git commit -qm first && {form} && echo 2 >>f && git commit -qam second"
        );
        prepare(&ground, &ground.world.at(""), &prepared);
        let again = "echo 3 >>f && git commit -qam third && git status --short && echo done";
        let told = told(&ground, &[("run", again)]);
        assert_eq!(told, ["Exit status 0.\ndone"], "{format}: {form}");
    }
}

#[test]
fn a_list_of_files_that_was_kept_is_not_lost_to_another() {
    let ground = ground(User::Same);
    let work = ground.world.at("");
    prepare(&ground, &work, REPOSITORY);
    let (_, plant, _) = WAYS_OUT[1];
    let kept = ["index.aside", "index.aside.2", "index.aside.3"];
    let staged = ["g1", "g2", "g3"].map(|name| {
        let line = format!("echo {name} >{name} && git add {name} && {plant}");
        (name, line)
    });
    let steps = staged.each_ref().map(|(name, line)| (*name, &line[..]));
    let told = told_in_steps(&ground, &steps);
    for ((kept, (name, _)), told) in kept.iter().zip(steps).zip(told) {
        let gone = format!(".git/index (which is {kept} now)");
        assert!(told.contains(&gone), "{told}");
        let list = fs::read(work.join(".git").join(kept)).unwrap();
        let mut parts = list.windows(name.len());
        assert!(parts.any(|it| it == name.as_bytes()), "{kept} has {name}");
    }
}

#[test]
fn what_a_command_changes_in_a_way_out_of_the_user_s_counts_as_its_own() {
    let ground = ground(User::Same);
    let work = ground.world.at("");
    let own =
        "mkdir .git/sequencer && printf '[options]\n\tstrategy = my/own\n' >.git/sequencer/opts";
    prepare(&ground, &work, &format!("{REPOSITORY} && {own}"));
    let change = "sed 's,my/own,x/y,' .git/sequencer/opts >o && cat o >.git/sequencer/opts";
    let steps = [
        (
            "looks",
            "cat .git/sequencer/opts >/dev/null && echo 2 >>f && git commit -qam second",
        ),
        ("changes", change),
    ];
    let told = told_in_steps(&ground, &steps);
    assert_eq!(told[0], "Exit status 0.\n(no output)");
    let gone = ".git/sequencer/opts (which was taken away again)";
    assert!(told[1].contains(gone), "{told:?}");
}

/// A repository with a submodule that has one itself, and a worktree with both.
const NESTED: &str = "git config --global protocol.file.allow always; \
                      for r in inner lib work; do git init -q -b main ../outside/$r && (cd ../outside/$r && echo 1 >f && git add f && \
                      git commit -qm first); done && (cd ../outside/lib && git submodule --quiet add ../inner inner && \
                      git commit -qm inner) && git clone -q ../outside/lib . && git submodule --quiet update --init && \
                      git submodule --quiet add ../lib sub && git commit -qm sub && git submodule --quiet update --init --recursive && \
                      git worktree add -q tree && (cd tree && git submodule --quiet update --init --recursive)";

#[test]
fn submodules_of_submodules_and_of_worktrees_keep_their_settings() {
    for user in users() {
        let ground = ground(*user);
        let work = ground.world.at("");
        prepare(&ground, &work, NESTED);
        let parts = [
            "modules/sub",
            "modules/sub/modules/inner",
            "worktrees/tree/modules/sub",
            "worktrees/tree/modules/sub/modules/inner",
        ];
        let attacks = parts.map(|part| {
            let folder = format!(".git/{part}");
            assert!(work.join(&folder).join("config").is_file(), "{folder}");
            let line = format!(
                "cd {folder} && echo '[core]' >>config; echo x >hooks/post-checkout; echo x >config.worktree; \
                 mv hooks h; echo end"
            );
            (part, line)
        });
        let steps = attacks.each_ref().map(|(part, line)| (*part, &line[..]));
        for (part, told) in parts.iter().zip(told_in_steps(&ground, &steps)) {
            let refused = told.matches("Read-only file system").count();
            assert_eq!(refused, 3, "{user:?}, {part}: {told}");
            let is_held = told.contains("Device or resource busy");
            assert!(is_held && !told.contains("tell the user"), "{part}: {told}");
        }
    }
}

#[test]
fn a_submodule_that_a_command_makes_leads_git_to_no_other_settings() {
    let plant = "mkdir -p .git/modules/sub evil/objects evil/refs && cp .git/HEAD .git/modules/sub/HEAD && \
                 echo ../../../evil >.git/modules/sub/commondir && \
                 git config -f evil/config core.fsmonitor 'touch ../../outside/ran; false' && \
                 git config -f evil/config remote.origin.url ../outside/lib && \
                 git config -f evil/config remote.origin.fetch '+refs/heads/*:refs/remotes/origin/*'";
    let later = "git submodule update --init >/dev/null 2>&1 || :";
    let made = "git config --global protocol.file.allow always; git init -q -b main ../outside/lib && \
                (cd ../outside/lib && echo 1 >f && git add f && git commit -qm first) && git init -q -b main . && \
                git submodule --quiet add ../outside/lib sub && git commit -qm sub && git submodule --quiet deinit -f sub && \
                rm -rf .git/modules";
    for user in users() {
        let ground = ground(*user);
        let work = ground.world.at("");
        prepare(&ground, &work, made);
        // It comes through where there are no walls.
        let copy = ground.outside("a/copy");
        let both = format!(
            "mkdir ../outside && cp -a ../../lib ../outside && cp -a '{}'/. . && {plant} && {later}",
            work.display()
        );
        prepare(&ground, &copy, &both);
        assert!(ground.outside("a/outside/ran").exists(), "{user:?}");
        let told = told(&ground, &[("run", plant)]);
        let gone = ".git/modules/sub/commondir (which was taken away again)";
        assert!(told[0].contains(gone), "{user:?}: {told:?}");
        prepare(&ground, &work, later);
        assert!(!ground.outside("ran").exists(), "{user:?}");
    }
}

#[test]
fn a_folder_of_a_repository_that_cannot_be_searched_makes_a_command_ask() {
    let user = *users().last().unwrap();
    let ground = ground(user);
    let closed = format!("{REPOSITORY} && mkdir .git/closed && chmod 000 .git/closed");
    prepare(&ground, &ground.world.at(""), &closed);
    let told = told(&ground, &[("run", "echo done")]);
    assert!(
        told[0].contains("`.git/closed` cannot be searched"),
        "{told:?}"
    );
}
