//! Each way out is tried without walls, where it has to lead out, and inside of them, where it must not.

#![expect(clippy::print_stdout, reason = "what could not be shown is on record")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Read,
    net::{TcpListener, UdpSocket},
    os::{
        linux::net::SocketAddrExt,
        unix::{
            fs::{MetadataExt, PermissionsExt},
            net::{SocketAddr, UnixDatagram, UnixListener},
        },
    },
    path::{Path, PathBuf},
    process::Child,
    sync::{Arc, Mutex},
    thread,
};

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{
    attacks::{Attack, Effect, rounds},
    ground::{SandboxGround, SandboxedCall, User, auto_run, program, users},
};
use crate::world::{EventLog, TestWorld, start};

/// What an attack says where the system itself does not let it through.
const REFUSALS: &[&str] = &[
    "Operation not permitted",
    "Permission denied",
    "must be superuser",
    "Function not implemented",
    "not supported",
    "No such file or directory",
    "cannot change root directory",
    "list index out of range",
    "looked",
];

/// What listens outside, and what it heard.
struct Listeners {
    tcp: u16,
    udp: u16,
    heard: Arc<Mutex<String>>,
}

impl Listeners {
    fn new(path: &Path, name: &str) -> Self {
        let heard = Arc::new(Mutex::new(String::new()));
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let beside = |name: &str| path.with_file_name(name);
        let file = UnixListener::bind(path).unwrap();
        let moved = UnixListener::bind(beside("first")).unwrap();
        fs::rename(beside("first"), beside("moved")).unwrap();
        let packets = UnixDatagram::bind(beside("packets")).unwrap();
        let pipe = beside("pipe");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR, 0).unwrap();
        for name in ["socket", "moved", "packets", "pipe"] {
            let everybody = fs::Permissions::from_mode(0o777);
            fs::set_permissions(beside(name), everybody).unwrap();
        }
        let named = SocketAddr::from_abstract_name(name).unwrap();
        let named = UnixListener::bind_addr(&named).unwrap();
        let of = Self {
            tcp: tcp.local_addr().unwrap().port(),
            udp: udp.local_addr().unwrap().port(),
            heard,
        };
        of.hear(move || tcp.accept().map(|(stream, _)| stream));
        of.hear(move || file.accept().map(|(stream, _)| stream));
        of.hear(move || moved.accept().map(|(stream, _)| stream));
        of.hear(move || named.accept().map(|(stream, _)| stream));
        of.hear(move || fs::File::open(&pipe));
        of.hear(move || {
            let mut packet = [0; 64];
            let length = packets.recv(&mut packet)?;
            Ok(std::io::Cursor::new(packet[..length].to_vec()))
        });
        let heard = of.heard.clone();
        thread::spawn(move || {
            let mut packet = [0; 64];
            while let Ok((length, from)) = udp.recv_from(&mut packet) {
                let said = String::from_utf8_lossy(&packet[..length]).into_owned();
                *heard.lock().unwrap() += &format!("{said} ");
                let _ = udp.send_to(b"x", from);
            }
        });
        of
    }

    /// Takes in what streams say. The thread ends with the tests.
    fn hear<S: Read>(&self, mut accept: impl FnMut() -> std::io::Result<S> + Send + 'static) {
        let heard = self.heard.clone();
        thread::spawn(move || {
            while let Ok(mut stream) = accept() {
                let mut said = String::new();
                let _ = stream.read_to_string(&mut said);
                *heard.lock().unwrap() += &said;
            }
        });
    }
}

/// A place with everything that is attacked.
struct Target {
    ground: SandboxGround,
    listeners: Listeners,
    /// A name that nothing else has, in every place that is shared by name.
    shared: String,
    /// Digits that no other place has.
    digits: String,
    victims: BTreeMap<&'static str, Child>,
}

impl Target {
    fn new(user: User) -> Self {
        let ground = SandboxGround::new(user);
        let shared = format!("aside-test-{:016x}", fastrand::u64(..));
        for folder in ["/tmp", "/dev/shm"] {
            fs::write(Path::new(folder).join(&shared), "PRIVATE").unwrap();
        }
        let world = ground.world.folder();
        for file in [
            "home/.ssh/id_ed25519",
            "home/.netrc",
            "home/.bashrc",
            "home/.config/git/credentials",
            "home/.config/pip/pip.conf",
            "home/.config/Code/User/globalStorage/state.vscdb",
            "home/.local/share/fish/fish_history",
            "state/aside/secret",
        ] {
            write(&world.join(file), "PRIVATE\n");
        }
        ground.world.user_config("# PRIVATE\n");
        let listeners = Listeners::new(&ground.outside("socket"), &shared);
        Self {
            ground,
            listeners,
            shared,
            digits: format!("{:08}", fastrand::u32(..100_000_000)),
            victims: BTreeMap::new(),
        }
    }

    /// The folders of an attack, and the process that it aims at.
    fn lay(&mut self, attack: &Attack) {
        let work = self.ground.world.at(attack.name);
        fs::create_dir(&work).unwrap();
        let files: &[&str] = &[
            ".git/HEAD",
            ".git/config",
            ".git/hooks/pre-commit",
            ".git/objects/x",
            ".git/refs/x",
            "sub/nested/.git/hooks/pre-commit",
            "tree/.git",
            "bare/HEAD",
            "bare/config",
            "bare/objects/x",
            "bare/refs/x",
            "aside.toml",
            ".cargo/config.toml",
            ".vscode/tasks.json",
            ".mcp.json",
            ".envrc",
            ".husky/pre-commit",
        ];
        for file in files.iter().filter(|_| attack.is_at_places()) {
            let text = match *file {
                ".git/HEAD" => "ref: refs/heads/main\n",
                _ => "",
            };
            write(&work.join(file), text);
        }
        write(&self.ground.outside(attack.name).join("f"), "safe\n");
        if attack.command.contains("{victim}") || attack.effect == Effect::Ends {
            let id = format!("0.0{}", self.mark(attack));
            let mut command = self.ground.command(Path::new("sleep"), &["1000", &id]);
            let victim = command.env("CANARY", "PRIVATE").spawn().unwrap();
            self.victims.insert(attack.name, victim);
        }
    }

    /// Leaves a turn outside that waits for a person, and returns the prompt at which it does.
    fn park(&self, attack: &Attack) -> String {
        let (out, world) = (self.ground.outside(attack.name), &self.ground.world);
        let call = SandboxedCall {
            id: "parked",
            command: "echo x >f".to_owned(),
            cwd: ".",
        };
        let script = self.ground.outside("parked.toml");
        write(&script, &super::ground::script(&[call]));
        let (out, model) = (
            out.to_str().unwrap(),
            format!("rehearsal/{}", script.display()),
        );
        let args = [
            "--cwd",
            out,
            "run",
            "-m",
            &model,
            "Go",
            "--trust",
            "--non-interactive",
            "--detached",
            "stop",
        ];
        self.ground.aside(&args).exits(4);
        let log = log_with(world, "parked");
        log.one("prompt_opened")["prompt"]
            .as_str()
            .unwrap()
            .to_owned()
    }

    fn command(&self, attack: &Attack) -> String {
        let prompt = match attack.command.contains("{prompt}") {
            true => self.park(attack),
            false => String::new(),
        };
        let world = self.ground.world.folder();
        let victim = self.victims.get(attack.name).map_or(0, Child::id);
        let up = format!("../../outside/{}", attack.name);
        let text = |path: PathBuf| path.to_str().unwrap().to_owned();
        [
            ("{out}", text(self.ground.outside(attack.name))),
            ("{up}", up),
            ("{victim}", victim.to_string()),
            ("{tcp}", self.listeners.tcp.to_string()),
            ("{udp}", self.listeners.udp.to_string()),
            ("{home}", text(world.join("home"))),
            ("{state}", text(world.join("state/aside"))),
            ("{work}", text(world.join("work"))),
            ("{aside}", text(program().into())),
            ("{mark}", self.mark(attack)),
            ("{shared}", self.shared.clone()),
            ("{prompt}", prompt),
        ]
        .into_iter()
        .fold(attack.command.to_owned(), |command, (from, to)| {
            let (string, in_string) = (format!("\"{from}"), format!("\"{to}"));
            let command = command.replace(&string, &in_string);
            command.replace(from, &to.replace(' ', "\\ "))
        })
    }

    /// Digits that stand for an attack here.
    fn mark(&self, attack: &Attack) -> String {
        let digits: String = attack.name.bytes().map(|byte| byte.to_string()).collect();
        let of_name = &digits[..digits.len().min(40)];
        format!("{}{of_name:0>40}", self.digits)
    }

    /// What must not change, as it is.
    fn snapshot(&self, attack: &Attack) -> BTreeMap<PathBuf, String> {
        let work = self.ground.world.at(attack.name);
        let places = [
            ".git",
            "sub/nested/.git",
            "tree/.git",
            "bare",
            "aside.toml",
            ".cargo",
            ".vscode",
            ".mcp.json",
            ".envrc",
            ".husky",
        ];
        let mut all = BTreeMap::new();
        for place in places {
            look(&work.join(place), &mut all);
        }
        look(&self.ground.outside(attack.name), &mut all);
        // Attacks of one round share these, so that each is looked at for what it aims at.
        for (word, place) in [
            (".bashrc", "home/.bashrc"),
            ("--global", "home/.gitconfig"),
            ("aside/aside.toml", "config/aside/aside.toml"),
            ("aside/new", "config/aside/new"),
            ("trust.json", "state/aside/trust.json"),
        ] {
            if attack.command.contains(word) {
                look(&self.ground.world.folder().join(place), &mut all);
            }
        }
        all
    }

    /// Whether an attack came through.
    fn came_through(
        &mut self,
        attack: &Attack,
        before: &BTreeMap<PathBuf, String>,
        output: &str,
    ) -> bool {
        match attack.effect {
            Effect::Changes => *before != self.snapshot(attack),
            Effect::Prints(text) => output.contains(text),
            Effect::Hears => {
                let heard = self.listeners.heard.lock().unwrap();
                heard.contains(&self.mark(attack))
            }
            Effect::Ends => {
                let victim = self.victims.get_mut(attack.name).unwrap();
                victim.try_wait().unwrap().is_some()
            }
        }
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        for victim in self.victims.values_mut() {
            let _ = victim.kill();
            let _ = victim.wait();
        }
        for folder in ["/tmp", "/dev/shm"] {
            let _ = fs::remove_file(Path::new(folder).join(&self.shared));
        }
    }
}

/// The log of the conversation with this call.
fn log_with(world: &TestWorld, call: &str) -> EventLog {
    let call = format!("\"id\":\"{call}\"");
    let mut found = world.conversations().into_iter();
    let is_it = |folder: &PathBuf| {
        fs::read_to_string(folder.join("events.jsonl")).is_ok_and(|log| log.contains(&call))
    };
    EventLog::read(&found.find(is_it).expect("a conversation"))
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Everything at a path: kind, mode, time of change, and content.
fn look(path: &Path, all: &mut BTreeMap<PathBuf, String>) {
    let Ok(about) = fs::symlink_metadata(path) else {
        return;
    };
    let content = match about.is_file() {
        true => fs::read_to_string(path).unwrap_or_default(),
        false => String::new(),
    };
    let line = format!("{:o} {} {content}", about.mode(), about.mtime());
    all.insert(path.to_owned(), line);
    if about.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            look(&entry.unwrap().path(), all);
        }
    }
}

/// Plays a round of attacks, with or without walls, and returns what each said and whether it came through.
fn play(user: User, round: &[Attack], args: &[&str]) -> Vec<(String, bool)> {
    let mut target = Target::new(user);
    for attack in round {
        target.lay(attack);
    }
    let model = {
        let calls: Vec<_> = round
            .iter()
            .map(|attack| SandboxedCall {
                id: attack.name,
                command: target.command(attack),
                cwd: attack.name,
            })
            .collect();
        target.ground.world.script(&super::ground::script(&calls))
    };
    target.ground.hand_over();
    let before: Vec<_> = round.iter().map(|it| target.snapshot(it)).collect();
    let mut command = target.ground.command(program(), &auto_run(&model, args));
    start(&mut command).end().exits(0);
    let log = log_with(&target.ground.world, round[0].name);
    let mut results = Vec::new();
    for (attack, before) in round.iter().zip(before) {
        let told = log.told(attack.name).to_owned();
        results.push((told.clone(), target.came_through(attack, &before, &told)));
    }
    results
}

fn check_round(user: User, round: &[Attack]) {
    let free = play(user, round, &["--unsandboxed"]);
    let held = play(user, round, &[]);
    for ((attack, (said, through)), (held, out)) in round.iter().zip(free).zip(held) {
        let name = attack.name;
        assert!(!out, "{name} as {user:?} came through the walls: {held}");
        let stated = attack.error.split('|').any(|error| held.contains(error));
        assert!(
            stated,
            "{name} as {user:?} was not told {:?}: {held}",
            attack.error
        );
        if through {
            continue;
        }
        let refused = REFUSALS.iter().any(|it| said.contains(it));
        assert!(
            attack.needs_rights && refused,
            "{name} as {user:?} does not lead out without walls either: {said}"
        );
        println!("{name} as {user:?} is refused by the system itself: {said}");
    }
}

#[test]
fn no_way_leads_out_of_the_sandbox() {
    let rounds = rounds();
    let names: BTreeSet<_> = rounds.iter().flatten().map(|attack| attack.name).collect();
    let count = rounds.iter().map(Vec::len).sum::<usize>();
    assert_eq!(names.len(), count, "each has its own name");
    assert!(count >= 60, "{count}");
    // Side by side: much of it is waiting.
    thread::scope(|scope| {
        for user in users() {
            scope.spawn(|| rounds.iter().for_each(|round| check_round(*user, round)));
        }
    });
    println!("{count} ways out, as {:?}", users());
}
