//! Secrets of homes that the environment does not name, and under mounts that their names do not tell of.

use std::{fs, path::Path};

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
    let line = format!("cat {home}/.ssh/id_ed25519 {other}/.ssh/id_ed25519");
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
