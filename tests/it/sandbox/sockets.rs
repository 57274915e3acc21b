//! Unix sockets of programs outside are out of sight, in whatever network those run and whatever they see mounted.

use std::{fs, path::Path};

use super::ground::{SandboxGround, SandboxedCall, users};
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
