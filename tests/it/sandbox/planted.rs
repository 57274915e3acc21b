//! Settings that a command made: nothing is started by them before a person looked at them.

use std::{fs, path::Path};

use super::ground::{SandboxGround, SandboxedCall, User, auto_run, program, script, users};
use crate::world::{LONG, start, until_within};

#[test]
fn decoys_do_not_hide_what_a_command_made() {
    let ground = SandboxGround::new(User::Same);
    let plants = "for n in $(seq 10 99); do mkdir -p a/decoy$n; echo x >a/decoy$n/.envrc; done; \
                  echo x >.vimrc; mkdir .opencode; echo {} >opencode.json; echo x >.bazelrc; echo done";
    let plants = SandboxedCall {
        id: "plant",
        command: plants.to_owned(),
        cwd: ".",
    };
    let end = ground.run(&[plants], &["--mode", "auto"]).exits(0);
    let first = ".bazelrc, .opencode, .vimrc, a/decoy10/.envrc, opencode.json, a/decoy11/.envrc, ";
    let rest = "a/decoy65/.envrc and 34 more";
    let log = ground.world.log();
    let told = log.told("plant").lines().next().unwrap().to_owned();
    for said in [&told, &end.stderr] {
        assert!(said.contains(first) && said.contains(rest), "{said}");
    }
}

#[test]
fn a_link_into_a_folder_that_is_not_searched_is_named() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write("packages/web/package.json", "{}");
    ground.world.write("node_modules/mine/a", "");
    std::os::unix::fs::symlink("node_modules/mine", ground.world.at("mine")).unwrap();
    let moves = "mv packages/web node_modules/web; ln -s ../node_modules/web packages/web; mkdir node_modules/web/.vscode; \
                 ln -s node_modules/mine/a file; ln -s packages two";
    let moves = SandboxedCall {
        id: "moves",
        command: moves.to_owned(),
        cwd: ".",
    };
    ground.run(&[moves], &["--mode", "auto"]).exits(0);
    let told = ground.world.log().told("moves").to_owned();
    let named = "tell the user: packages/web (a link to a folder of a package manager, which is not searched)\n";
    assert!(told.contains(named), "{told}");
}

/// A server as settings name it, and as `printf` writes it.
const SERVER: &str = "[mcp.servers.planted]\\ncommand = \\\"sh\\\"\\nargs = [\\\"-c\\\", \\\"echo x >>started\\\"]\\n";

#[test]
fn settings_of_a_command_that_nobody_saw_end_count_for_nothing() {
    let ground = SandboxGround::new(User::Same);
    let world = &ground.world;
    let call = |id, command: String| SandboxedCall {
        id,
        command,
        cwd: ".",
    };
    let plant = format!("printf \"{SERVER}\" >aside.toml; exec sleep 1000");
    let model = world.script(&script(&[call("plant", plant)]));
    let mut running = start(&mut ground.command(program(), &auto_run(&model, &[])));
    until_within(LONG, "the settings", || world.at("aside.toml").exists());
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    let model = world.script(&script(&[call("again", "echo ran".to_owned())]));
    let again = || start(&mut ground.command(program(), &auto_run(&model, &[]))).end();
    for _ in 0..2 {
        again().exits(0).says("aside.toml").says("aside trust");
        assert!(!world.at("../home/started").exists());
    }
    ground.aside(&["trust", "--yes"]).exits(0);
    again().exits(0);
    assert!(world.at("../home/started").exists());
}

#[test]
fn settings_below_those_of_the_user_are_a_command_s_that_nobody_saw_end() {
    let ground = SandboxGround::new(User::Same);
    let world = &ground.world;
    world.write("aside.toml", "[assistant]\n");
    let plant = SandboxedCall {
        id: "plant",
        command: format!("mkdir n; printf \"{SERVER}\" >n/aside.toml; exec sleep 1000"),
        cwd: ".",
    };
    let model = world.script(&script(&[plant]));
    let mut running = start(&mut ground.command(program(), &auto_run(&model, &[])));
    until_within(LONG, "the settings", || world.at("n/aside.toml").exists());
    let model = world.script("[[reply]]\nsay = [{ text = 'Done.' }]\n");
    let run_in = |folder: &str| {
        let mut command = ground.command(program(), &auto_run(&model, &[]));
        start(command.current_dir(world.at(folder))).end().exits(0)
    };
    let check = || {
        run_in("n").says("aside.toml").says("aside trust");
        assert!(!world.at("../home/started").exists());
        // What was there before counts as ever.
        let own = run_in("");
        assert!(!own.stderr.contains("aside trust"), "{}", own.stderr);
    };
    check();
    running.signal(rustix::process::Signal::KILL);
    drop(running);
    check();
}

#[test]
fn settings_that_a_command_made_count_for_nothing_before_a_person_looked_at_them() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let world = &ground.world;
        let call = |id, command| SandboxedCall {
            id,
            command,
            cwd: ".",
        };
        let plants = call(
            "plant",
            format!("printf \"{SERVER}\" >aside.toml; cat aside.toml"),
        );
        ground.run(&[plants], &["--mode", "auto"]).exits(0);
        let named = "Other programs take code from what this made or replaced, so tell the user: aside.toml\n";
        world.log().told_begins("plant", named);
        assert!(world.read("aside.toml").contains("planted"));
        // The user's word for a run is older than what the command wrote.
        let model = world.script(&script(&[call("again", "echo ran".to_owned())]));
        ground.hand_over();
        let run = auto_run(&model, &[]);
        let again = || start(&mut ground.command(program(), &run)).end();
        again().exits(0).says("aside.toml").says("aside trust");
        assert!(!world.at("../home/started").exists());
        // A person who looks at it sees what it would start, and then it counts.
        let shown = ground.aside(&["trust", "--yes"]).exits(0);
        assert!((shown.stdout + &shown.stderr).contains("echo x >>started"));
        again().exits(0);
        assert!(world.at("../home/started").exists());
        // So does what the user writes there.
        fs::remove_file(world.at("../home/started")).unwrap();
        let changed = world.read("aside.toml") + "# mine\n";
        world.write("aside.toml", &changed);
        ground.hand_over();
        again().exits(0);
        assert!(world.at("../home/started").exists());
    }
}

#[test]
fn settings_that_a_command_made_stay_its_own_whatever_becomes_of_them() {
    // What a command makes, and what happens to it later, by another command or by the user.
    let cases = [
        (
            "cp x aside.toml",
            "PLANT x; cp -f x aside.toml 2>/dev/null",
            "PLANT aside.toml",
        ),
        ("ln x aside.toml", "PLANT x", "true"),
        ("mkdir c; ln -s c/x aside.toml", "PLANT c/x", "true"),
        (
            "PLANT aside.toml; chmod 000 aside.toml",
            "true",
            "chmod 644 aside.toml",
        ),
        ("PLANT aside.toml", "true", "echo >>aside.toml"),
        ("PLANT aside.toml; chmod 000 .", "true", "chmod 755 'ROOT'"),
    ];
    for (first, second, later) in cases {
        for user in users() {
            let ground = SandboxGround::new(*user);
            let world = &ground.world;
            let plants = |line: &str| {
                let plant = format!("printf \"{SERVER}\" >");
                let root = world.at("").display().to_string();
                line.replace("PLANT ", &plant).replace("ROOT", &root)
            };
            for (turn, line) in [format!("echo '[assistant]' >x; {first}"), second.to_owned()]
                .iter()
                .enumerate()
            {
                // In a folder that an ordinary user cannot enter, nothing runs.
                if turn > 0 && !world.at("x").exists() {
                    continue;
                }
                let call = SandboxedCall {
                    id: "run",
                    command: plants(line),
                    cwd: ".",
                };
                let end = ground.run(&[call], &["--mode", "auto"]);
                assert!(turn > 0 || end.code == 0, "{line}: {end:?}");
            }
            let later = plants(&format!("cd 'ROOT' 2>/dev/null; {later}"));
            let mut shell = ground.command(Path::new("sh"), &["-c", &later]);
            let done = start(shell.current_dir(world.folder())).end();
            assert_eq!(done.code, 0, "{later}: {done:?}");
            let model = world.script("[[reply]]\nsay = [{ text = 'Done.' }]\n");
            let again = || start(&mut ground.command(program(), &auto_run(&model, &[]))).end();
            again();
            assert!(
                !world.at("../home/started").exists(),
                "{first}, {second}, {later} as {user:?}"
            );
        }
    }
}
