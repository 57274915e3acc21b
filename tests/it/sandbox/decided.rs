//! What runs inside the sandbox, what asks, and what is refused.

use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use super::ground::{
    SandboxGround, SandboxedCall, User, auto_run, program, script, script_of_steps, users,
};
use crate::world::start;

/// Writes in the workspace and outside of it, and says what of that worked.
const WRITES: &str =
    "echo x >inside && echo inside; (echo x >../outside/f) 2>/dev/null && echo outside; echo end";

fn call(command: &str) -> [SandboxedCall<'_>; 1] {
    [SandboxedCall {
        id: "run",
        command: command.to_owned(),
        cwd: ".",
    }]
}

#[test]
fn a_command_runs_unasked_inside_with_nobody_there() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        ground.run(&call(WRITES), &["--mode", "auto"]).exits(0);
        let log = ground.world.log();
        assert_eq!(log.told("run"), "Exit status 0.\ninside\nend", "{user:?}");
        assert!(!ground.outside("f").exists());
        assert_eq!(ground.world.read("inside"), "x\n");
    }
}

#[test]
fn what_a_mode_asks_for_is_refused_with_nobody_there_and_the_hint_says_what_helps() {
    let ground = SandboxGround::new(User::Same);
    let done = ground.run(&call(WRITES), &["--mode", "edits"]).exits(0);
    done.says("`--mode auto` lets commands run inside the sandbox without approval.");
    let log = ground.world.log();
    assert!(log.told("run").starts_with("run_command needs approval"));
    assert!(!ground.world.at("inside").exists());
}

#[test]
fn how_a_command_ended_comes_through_the_walls() {
    let check = |command: &str, told: &str| {
        let ground = SandboxGround::new(User::Same);
        ground.run(&call(command), &["--mode", "auto"]).exits(0);
        assert_eq!(ground.world.log().told("run"), told);
    };
    check("echo out; echo err >&2; exit 3", "Exit status 3.\nout\nerr");
    check("kill -KILL $$", "Exit status 137.\n(no output)");
    check(
        "echo $TMPDIR; echo x >/tmp/x && cat /tmp/x; cat; ls /proc/self/fd | wc -l",
        "Exit status 0.\n/tmp\nx\n4",
    );
}

/// The folder of programs that a `PATH` without bubblewrap leads to.
fn programs_without(missing: &[&str], folder: &Path) -> String {
    fs::create_dir(folder).unwrap();
    for name in ["sh", "setsid", "setpriv", "bwrap", "cat", "env", "sleep"] {
        let found = ["/usr/bin", "/bin"].map(|place| Path::new(place).join(name));
        if let Some(found) = found
            .iter()
            .find(|it| it.exists() && !missing.contains(&name))
        {
            symlink(found, folder.join(name)).unwrap();
        }
    }
    folder.to_str().unwrap().to_owned()
}

#[track_caller]
fn needs_approval(ground: &SandboxGround) {
    let log = ground.world.log();
    assert!(log.told("run").starts_with("run_command needs approval"));
}

#[test]
fn without_the_means_it_is_refused_and_said_how_to_mend_that() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let path = programs_without(&["bwrap"], &ground.world.folder().join("bin"));
        let model = ground.world.script(&script(&call(WRITES)));
        ground.hand_over();
        let args = auto_run(&model, &["--detached", "auto"]);
        let done = start(ground.command(program(), &args).env("PATH", &path))
            .end()
            .exits(0);
        done.says("The sandbox does not work here, so every command needs approval: bubblewrap is not installed.")
            .says("bubblewrap`")
            .says("`--mode auto --unsandboxed` lets commands run without approval.");
        needs_approval(&ground);
        assert!(!ground.world.at("inside").exists());
        let doctor = start(ground.command(program(), &["doctor"]).env("PATH", &path)).end();
        assert!(
            doctor
                .stdout
                .contains("warning  sandbox: it does not work here: bubblewrap is not installed; "),
            "{doctor:?}"
        );
        let doctor = start(&mut ground.command(program(), &["doctor"])).end();
        assert!(
            doctor.stdout.contains(
                "ok       sandbox: commands run inside one (bubblewrap), without network access\n"
            ),
            "{doctor:?}"
        );
    }
}

#[test]
fn before_trust_nothing_is_started_to_try_it() {
    let ground = SandboxGround::new(User::Same);
    let folder = ground.world.folder().join("bin");
    let path = programs_without(&["bwrap"], &folder);
    let tried = ground.outside("tried");
    let text = format!(
        "#!/bin/sh\ntouch '{}'\nexec /usr/bin/bwrap \"$@\"\n",
        tried.display()
    );
    fs::write(folder.join("bwrap"), text).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.join("bwrap"), executable).unwrap();
    let path = format!("{path}:/usr/bin:/bin");
    let model = ground.world.script(&script(&call(WRITES)));
    let args = [
        "run",
        "-m",
        &model,
        "Go",
        "--non-interactive",
        "--mode",
        "auto",
    ];
    start(ground.command(program(), &args).env("PATH", &path))
        .end()
        .exits(0);
    let log = ground.world.log();
    log.told_has("run", "not trusted");
    assert!(!tried.exists());
    // With trust it is.
    start(
        ground
            .command(program(), &[&args[..], &["--trust"]].concat())
            .env("PATH", &path),
    )
    .end()
    .exits(0);
    assert!(tried.exists());
}

#[test]
fn where_no_namespace_can_be_made_it_is_refused_too() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let model = ground.world.script(&script(&call(WRITES)));
        ground.hand_over();
        let outer = "--unshare-user --disable-userns --dev-bind / / --";
        let mut args: Vec<&str> = outer.split(' ').collect();
        args.push(program().to_str().unwrap());
        args.extend(auto_run(&model, &[]));
        let done = start(&mut ground.command(Path::new("bwrap"), &args))
            .end()
            .exits(0);
        done.says(
            "The sandbox does not work here, so every command needs approval: bubblewrap says \"",
        );
        needs_approval(&ground);
        assert!(!ground.world.at("inside").exists());
    }
}

#[test]
fn a_program_of_the_workspace_builds_no_walls() {
    let ground = SandboxGround::new(User::Same);
    let world = &ground.world;
    for name in ["bwrap", "sh"] {
        world.write(name, "#!/bin/sh\ntouch taken\n");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(world.at(name), executable).unwrap();
    }
    let model = world.script(&script(&call("echo ran")));
    let args = auto_run(&model, &[]);
    let path = format!("{}:/usr/bin:/bin", world.at("").display());
    let mut command = ground.command(program(), &args);
    start(command.env("PATH", path)).end().exits(0);
    assert_eq!(world.log().told("run"), "Exit status 0.\nran");
    assert!(!world.at("taken").exists());
}

#[test]
fn settings_open_the_walls_where_the_user_says_so() {
    let ground = SandboxGround::new(User::Same);
    let outside = ground.outside("");
    ground.world.user_config(&format!(
        "[sandbox]\nnetwork = true\nwritable = ['{}', '/nonesuch']\n",
        outside.display()
    ));
    let command = "echo x >../outside/f && echo outside; mkdir ../outside/.git 2>&1; echo x >../outside/.envrc; \
                   wc -l </proc/net/dev | grep -qv '^3$' && echo network; echo end";
    fs::write(ground.outside(".envrc"), "").unwrap();
    ground.run(&call(command), &["--mode", "auto"]).exits(0);
    let log = ground.world.log();
    let told = log.told("run");
    assert!(told.contains("\noutside\n"), "{told}");
    assert!(told.contains("Read-only file system"), "{told}");
    assert!(told.ends_with("\nend"), "{told}");
    assert_eq!(fs::read_to_string(ground.outside(".envrc")).unwrap(), "");
}

#[test]
fn what_other_programs_take_code_from_is_named_when_a_command_made_it() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write(".git/HEAD", "ref: refs/heads/main\n");
    let plants = "mkdir -p vendor/x/.git/hooks .cargo; echo x >vendor/x/.git/hooks/pre-commit; \
                  echo x >.cargo/config.toml; echo x >plain; echo done";
    ground.run(&call(plants), &["--mode", "auto"]).exits(0);
    assert_eq!(
        ground.world.log().told("run"),
        "Other programs take code from what this made or replaced, so tell the user: vendor/x/.git, .cargo/config.toml\n\
         Exit status 0.\ndone"
    );
}

#[test]
fn rules_of_the_user_s_decide_by_name() {
    let ground = SandboxGround::new(User::Same);
    ground.world.user_config(
        "[commands]\nallow = ['echo', 'git status', 'tee']\nask = ['echo secret']\ndeny = ['curl']\nunsandboxed = ['touch']\n",
    );
    let commands = [
        ("allowed", "echo one && echo two"),
        ("unnamed", "cat aside.toml"),
        ("half", "echo one && cat aside.toml"),
        ("hidden", "echo $(cat aside.toml)"),
        ("asked", "echo secret"),
        ("denied", "echo one | curl x"),
        ("denied_inside", "echo $(curl x)"),
        ("outside", "touch ../outside/f"),
        ("outside_twice", "touch ../outside/g; touch ../outside/h"),
        ("inside", "echo x | tee ../outside/i"),
        ("written", "echo x >.env"),
        ("otherwise", "env /usr/bin/curl x"),
    ];
    let calls = commands.map(|(id, command)| SandboxedCall {
        id,
        command: command.to_owned(),
        cwd: ".",
    });
    ground.run(&calls, &[]).exits(0);
    let log = ground.world.log();
    assert_eq!(log.told("allowed"), "Exit status 0.\none\ntwo");
    for refused in [
        "unnamed",
        "half",
        "hidden",
        "asked",
        "outside_twice",
        "written",
    ] {
        assert!(
            log.told(refused).starts_with("run_command needs approval"),
            "{refused}"
        );
    }
    for denied in ["denied", "denied_inside", "otherwise"] {
        assert_eq!(
            log.told(denied),
            "run_command is not allowed here (a rule in commands.deny). Do not retry it in this turn, nor try it in another way."
        );
    }
    assert!(log.told("outside").starts_with("Exit status 0."));
    assert!(log.told("inside").contains("Read-only file system"));
    let there = ["f", "g", "h", "i"].map(|name| ground.outside(name).exists());
    assert_eq!(there, [true, false, false, false]);
}

#[test]
fn a_rule_covers_what_shells_start_however_it_is_written() {
    let padded = " ".repeat(66_000) + "mkdir OUT";
    // What `unsandboxed` must not let out, and what `deny` must not let run.
    let let_out = [
        "printf x; touch OUT",
        "printf x \\ # ; touch OUT",
        "printf x\n\\\ntouch OUT",
        "printf x \\\r\ntouch OUT",
        "printf x \\\t# ; touch OUT",
        "printf x \u{c}# ; touch OUT",
    ];
    let denied = [
        "mkdir OUT",
        "echo \\ # ; mkdir OUT",
        &padded,
        "sh -c \"mkdir OUT $HOME\"",
        "env -S 'mkdir OUT'",
        "tee -a OUT",
        "tee >/dev/null -a OUT",
        "tee 2>&1 -a OUT",
        "tee -\\\na OUT",
    ];
    for user in users() {
        let ground = SandboxGround::new(*user);
        ground.world.user_config(
            "[commands]\nunsandboxed = ['printf']\ndeny = ['mkdir', 'tee -a']\nallow = ['echo', 'sh', 'env']\n",
        );
        let lines: Vec<(String, PathBuf)> = let_out
            .iter()
            .map(|line| (line, "../outside/out"))
            .chain(denied.iter().map(|line| (line, "out")))
            .enumerate()
            .map(|(number, (line, out))| {
                let out = format!("{out}{number}");
                (line.replace("OUT", &out), ground.world.at(&out))
            })
            .collect();
        ground.hand_over();
        for (line, out) in &lines {
            let mut shell = ground.command(Path::new("sh"), &["-c", line]);
            start(&mut shell).end();
            let made = fs::remove_file(out).or_else(|_| fs::remove_dir(out));
            assert!(made.is_ok(), "without walls: {line:?}");
        }
        let ids: Vec<String> = (0..lines.len()).map(|it| format!("line{it}")).collect();
        let calls = lines.iter().zip(&ids);
        let calls: Vec<SandboxedCall<'_>> = calls
            .map(|((line, _), id)| SandboxedCall {
                id,
                command: line.clone(),
                cwd: ".",
            })
            .collect();
        for mode in ["ask", "auto"] {
            ground.run(&calls, &["--mode", mode]).exits(0);
        }
        for (line, out) in &lines {
            assert!(!out.exists(), "as {user:?}: {line:?}");
        }
    }
}

#[test]
fn a_rule_lets_no_command_out_that_may_run_what_commands_made() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        ground
            .world
            .user_config("[commands]\nunsandboxed = ['git commit', 'touch']\n");
        let hook = "echo touch ../outside/from_hook >.git/hooks/pre-commit; chmod +x .git/hooks/pre-commit";
        let identity = "git config user.name a && git config user.email a@b";
        let plants =
            format!("git init -q . && {identity} && echo x >f && git add f && {{ {hook}; }}");
        let calls = [
            ("before", "touch ../outside/before".to_owned()),
            ("plants", plants),
            ("commits", "git commit -qm x".to_owned()),
            ("after", "touch ../outside/after".to_owned()),
        ];
        let calls = calls.map(|(id, command)| SandboxedCall {
            id,
            command,
            cwd: ".",
        });
        let model = ground.world.script(&script_of_steps(&calls));
        let run = ["run", "-m", &model, "Go", "--trust", "--non-interactive"];
        let end = ground.aside(&[&run[..], &["--mode", "auto"]].concat());
        let end = end.exits(0);
        assert!(
            end.stderr
                .contains("It made or replaced .git, from which other programs take code."),
            "{}",
            end.stderr
        );
        let there = ["before", "from_hook", "after"].map(|name| ground.outside(name).exists());
        assert_eq!(there, [true, false, false], "{user:?}");
    }
}
