//! Unix sockets of programs outside are out of sight, in whatever network those run and whatever they see mounted.

use std::{fs, path::Path};

use super::ground::{SandboxGround, SandboxedCall, auto_run, program, script, users};
use crate::world::{LONG, start, until_within};

/// Listens at a path, and says something to whoever comes.
const LISTEN: &str = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.bind(sys.argv[1])\ns.listen()\n\
    while True: s.accept()[0].send(b'HEARD')";

/// Connects to a path.
const CONNECT: &str = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nprint(s.recv(5).decode())";

#[test]
fn programs_in_other_networks_are_not_reached() {
    // In the second case the program sees the folder elsewhere, as in a container.
    let programs = [
        ("-Urn", "exec python3 -c \"$2\" \"$1/s\""),
        (
            "-Urnm",
            "mount --bind \"$1\" \"$1/../mounted\" && exec python3 -c \"$2\" \"$1/../mounted/s\"",
        ),
    ];
    for ((options, line), user) in programs
        .iter()
        .flat_map(|it| users().iter().map(move |user| (it, *user)))
    {
        let ground = SandboxGround::new(user);
        let (folder, socket) = (ground.outside("shared"), ground.outside("shared/s"));
        for name in ["shared", "mounted"] {
            fs::create_dir(ground.outside(name)).unwrap();
        }
        ground.hand_over();
        let folder = folder.to_str().unwrap();
        let args = [options, "sh", "-c", line, "sh", folder, LISTEN];
        let _running = start(&mut ground.command(Path::new("unshare"), &args));
        until_within(LONG, "a socket", || socket.exists());
        let socket = socket.to_str().unwrap();
        let connect = ["python3", "-c", CONNECT, socket];
        let control = start(&mut ground.command(Path::new("/usr/bin/env"), &connect)).end();
        assert_eq!(control.stdout.trim(), "HEARD", "{options}: {control:?}");
        let call = SandboxedCall {
            id: "run",
            command: format!("python3 -c '{CONNECT}' '{socket}' 2>&1 | tail -1; echo end"),
            cwd: ".",
        };
        ground.run(&[call], &["--mode", "auto"]).exits(0);
        let log = ground.world.log();
        let told = log.told("run");
        let is_refused = told.contains("Connection refused") || told.contains("Permission denied");
        assert!(
            is_refused && told.ends_with("end"),
            "{options} as {user:?}: {told}"
        );
    }
}

/// A socket whose name is no longer that under which its program made it.
struct MovedSocket {
    /// What is done in the folder in which `shared/s` is, once somebody listens there.
    moved: &'static str,
    /// What is done before Aside starts, in mounts of its own.
    mounted: &'static str,
    /// The socket's name by then.
    name: &'static str,
}

#[test]
fn a_socket_is_out_of_sight_by_whatever_name() {
    let sockets = [
        MovedSocket {
            moved: "mv shared/s shared/other",
            mounted: "true",
            name: "shared/other",
        },
        MovedSocket {
            moved: "mkdir deep && mv shared/s deep/other",
            mounted: "true",
            name: "deep/other",
        },
        MovedSocket {
            moved: "mv shared other",
            mounted: "true",
            name: "other/s",
        },
        MovedSocket {
            moved: "mkdir mounted",
            mounted: "mount --bind shared mounted",
            name: "mounted/s",
        },
        MovedSocket {
            moved: "touch one",
            mounted: "mount --bind shared/s one",
            name: "one",
        },
    ];
    for (moved, user) in sockets
        .iter()
        .flat_map(|it| users().iter().map(move |user| (it, *user)))
    {
        let ground = SandboxGround::new(user);
        fs::create_dir(ground.outside("shared")).unwrap();
        let (outside, made) = (ground.outside(""), ground.outside("shared/s"));
        let name = ground.outside(moved.name);
        let (outside, name) = (outside.to_str().unwrap(), name.to_str().unwrap());
        let call = SandboxedCall {
            id: "run",
            command: format!("python3 -c '{CONNECT}' '{name}' 2>&1 | tail -1; echo end"),
            cwd: ".",
        };
        let model = ground.world.script(&script(&[call]));
        ground.hand_over();
        let listen = ["python3", "-c", LISTEN, made.to_str().unwrap()];
        let _running = start(&mut ground.command(Path::new("/usr/bin/env"), &listen));
        until_within(LONG, "a socket", || made.exists());
        let line = format!("cd '{outside}' && {}", moved.moved);
        let done = start(&mut ground.command(Path::new("sh"), &["-c", &line])).end();
        assert_eq!(done.code, 0, "{done:?}");
        let mounted = |words: &[&str]| ground.run_in_mounts(moved.mounted, words);
        let control = mounted(&["python3", "-c", CONNECT, name]);
        assert_eq!(
            control.stdout.trim(),
            "HEARD",
            "{}: {control:?}",
            moved.moved
        );
        let words = [&[program().to_str().unwrap()], &auto_run(&model, &[])[..]].concat();
        mounted(&words).exits(0);
        let log = ground.world.log();
        let told = log.told("run");
        assert!(
            !told.contains("HEARD") && told.contains("Error") && told.ends_with("end"),
            "{} {} as {user:?}: {told}",
            moved.moved,
            moved.mounted
        );
    }
}
