//! Secrets of homes that the environment does not name, and under mounts that their names do not tell of.

use std::{fs, os::unix::fs::symlink, path::Path};

use super::ground::{SandboxGround, SandboxedCall, User, auto_run, program, script, users};
use crate::world::start;

/// Number of the user.
const USER: &str = "54321";

/// Everything that a command says whose user has this home in the database, and this `HOME`.
fn told(ground: &SandboxGround, home: Option<&Path>, variable: Option<&str>, line: &str) -> String {
    let call = SandboxedCall {
        id: "run",
        command: line.to_owned(),
        cwd: ".",
    };
    let model = ground.world.script(&script(&[call]));
    let users = ground.outside("passwd");
    let line = home.map(|home| format!("me:x:{USER}:{USER}::{}:/bin/sh\n", home.display()));
    fs::write(&users, line.unwrap_or_default()).unwrap();
    let aside = auto_run(&model, &[]);
    // A user whom no machine knows.
    let walls = [
        "--unshare-user",
        "--uid",
        USER,
        "--gid",
        USER,
        "--dev-bind",
        "/",
        "/",
        "--ro-bind",
    ];
    let place = [
        users.to_str().unwrap(),
        "/etc/passwd",
        program().to_str().unwrap(),
    ];
    let args = [&walls[..], &place, &aside].concat();
    let mut command = ground.command(Path::new("bwrap"), &args);
    match variable {
        Some(home) => command.env("HOME", home),
        None => command.env_remove("HOME"),
    };
    start(&mut command).end().exits(0);
    ground.world.log().told("run").to_owned()
}

/// A folder outside with a key in it.
fn with_key(ground: &SandboxGround, name: &str) -> String {
    let key = ground.outside(name).join(".ssh/id_ed25519");
    fs::create_dir_all(key.parent().unwrap()).unwrap();
    fs::write(&key, "PRIVATE").unwrap();
    ground.outside(name).display().to_string()
}

#[test]
fn secrets_are_hidden_in_the_home_of_the_user_database_too() {
    let ground = SandboxGround::new(User::Same);
    let (home, other) = (with_key(&ground, "home"), with_key(&ground, "other"));
    let line = format!("cat '{home}/.ssh/id_ed25519' '{other}/.ssh/id_ed25519'");
    let told = |ground: &SandboxGround, variable: Option<&str>| {
        told(ground, Some(Path::new(&home)), variable, &line)
    };
    let both = told(&ground, Some(&other));
    assert!(!both.contains("PRIVATE"), "{both}");
    let ground_without = SandboxGround::new(User::Same);
    let one = told(&ground_without, None);
    assert_eq!(
        one.matches("PRIVATE").count(),
        1,
        "the other is no home: {one}"
    );
}

#[test]
fn a_command_asks_where_no_home_is_known() {
    let ground = SandboxGround::new(User::Same);
    let told = told(&ground, None, None, "echo ran");
    assert!(told.contains("your home folder is not known"), "{told}");
}

#[test]
fn what_is_hidden_in_a_home_is_protected_where_that_is_the_workspace() {
    let ground = SandboxGround::new(User::Same);
    let home = ground.world.folder().join("home");
    for file in [".p10k.zsh", ".oh-my-zsh/custom/a.zsh", "bin/tool", "plain"] {
        fs::create_dir_all(home.join(file).parent().unwrap()).unwrap();
        fs::write(home.join(file), "mine\n").unwrap();
    }
    let call = SandboxedCall {
        id: "run",
        command: "for f in .p10k.zsh .oh-my-zsh/custom/a.zsh bin/tool bin/new plain; do echo x >>$f; done; mkdir .new".to_owned(),
        cwd: ".",
    };
    let model = ground.world.script(&script(&[call]));
    let mut command = ground.command(program(), &auto_run(&model, &[]));
    start(command.current_dir(&home)).end().exits(0);
    let log = ground.world.log();
    let told = log.told("run");
    assert_eq!(told.matches("Read-only file system").count(), 4, "{told}");
    assert!(told.contains("tell the user: .new\n"), "{told}");
    assert_eq!(fs::read_to_string(home.join("plain")).unwrap(), "mine\nx\n");
}

#[test]
fn the_usual_folder_of_state_is_hidden_where_another_is_used() {
    let ground = SandboxGround::new(User::Same);
    let usual = ground.world.folder().join("home/.local/state/aside");
    fs::create_dir_all(&usual).unwrap();
    fs::write(usual.join("tokens"), "PRIVATE").unwrap();
    let call = SandboxedCall {
        id: "run",
        command: "cat ../home/.local/state/aside/tokens; echo end".to_owned(),
        cwd: ".",
    };
    ground.run(&[call], &["--mode", "auto"]).exits(0);
    let told = ground.world.log().told("run").to_owned();
    assert!(!told.contains("PRIVATE") && told.ends_with("end"), "{told}");
}

#[test]
fn a_secret_is_hidden_where_a_link_in_its_folder_leads() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let home = ground.world.folder().join("home");
        for folder in [".aws", ".ssh", "dot/aws"] {
            fs::create_dir_all(home.join(folder)).unwrap();
        }
        for (file, link) in [
            ("dot/aws/credentials", ".aws/credentials"),
            ("dot/id", ".ssh/id"),
        ] {
            fs::write(home.join(file), "PRIVATE").unwrap();
            symlink(Path::new("..").join(file), home.join(link)).unwrap();
        }
        fs::write(home.join("dot/plain"), "plain").unwrap();
        let call = SandboxedCall {
            id: "run",
            command: "cd ../home/dot; cat aws/credentials id; cat plain".to_owned(),
            cwd: ".",
        };
        ground.run(&[call], &["--mode", "auto"]).exits(0);
        let told = ground.world.log().told("run").to_owned();
        assert!(
            !told.contains("PRIVATE") && told.ends_with("plain"),
            "{user:?}: {told}"
        );
    }
}

#[test]
fn a_secret_is_hidden_under_each_mount_at_which_it_can_be_seen() {
    let key = "home/.ssh/id_ed25519";
    let mounts = [
        (
            "the folder",
            "mount --bind ../home/.ssh second",
            "second/id_ed25519",
        ),
        (
            "the home",
            "mount --bind ../home second",
            "second/.ssh/id_ed25519",
        ),
        (
            "the file",
            "mount --bind ../home/.ssh/id_ed25519 file",
            "file",
        ),
        (
            "a mount of a mount",
            "mount --rbind ../home second && mount --bind second/.ssh third",
            "third/id_ed25519",
        ),
    ];
    for ((what, made, seen), user) in mounts
        .iter()
        .flat_map(|it| users().iter().map(move |user| (it, *user)))
    {
        let ground = SandboxGround::new(user);
        let key = ground.world.folder().join(key);
        fs::create_dir_all(key.parent().unwrap()).unwrap();
        fs::write(&key, "PRIVATE").unwrap();
        for name in ["second", "third"] {
            fs::create_dir(ground.outside(name)).unwrap();
        }
        fs::write(ground.outside("file"), "").unwrap();
        let seen = ground.outside(seen).display().to_string();
        let call = SandboxedCall {
            id: "run",
            command: format!("cat '{seen}'; echo end"),
            cwd: ".",
        };
        let model = ground.world.script(&script(&[call]));
        ground.hand_over();
        let control = ground.run_in_mounts(made, &["cat", &seen]);
        assert_eq!(control.stdout, "PRIVATE", "{what}: {control:?}");
        let words = [&[program().to_str().unwrap()], &auto_run(&model, &[])[..]].concat();
        ground.run_in_mounts(made, &words).exits(0);
        let log = ground.world.log();
        let told = log.told("run");
        assert!(
            !told.contains("PRIVATE") && told.ends_with("end"),
            "{what} as {user:?}: {told}"
        );
    }
}
