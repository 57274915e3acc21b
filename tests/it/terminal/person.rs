//! A person at a pseudo-terminal, on which the real program runs.

use std::{
    fs,
    io::{Read, Write},
    sync::mpsc::{Sender, channel},
    time::{Duration, Instant},
};

use portable_pty::{Child, CommandBuilder, MasterPty, PtySize, native_pty_system};
use rustix::process::{Pid, Signal, kill_process};

use crate::world::{ASIDE, TestWorld};

/// Long enough for any machine; only a test that fails waits so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// Standard output goes to a file, so that the screen shows what is not the answer.
const PLAIN: &str = r#"exec "$@" >"$OUT""#;

/// A program on a terminal of its own, and the person in front of it. The program is killed when it takes
/// longer than any test should, and when this is dropped.
pub(super) struct PtyPerson {
    child: Box<dyn Child + Send + Sync>,
    terminal: PtyTerminal,
    /// What came to the screen and was not asked for yet.
    seen: String,
    /// The beginning of a character or line end, whose rest has not come yet.
    half: Vec<u8>,
    /// Dropped: nobody need be killed any more.
    _watchdog: Sender<()>,
}

/// The person's side of the terminal. It hangs up when it is dropped.
struct PtyTerminal {
    screen: Box<dyn Read + Send>,
    /// Taken when the first key is typed: when it is dropped it types an end of input.
    keyboard: Option<Box<dyn Write + Send>>,
    master: Box<dyn MasterPty + Send>,
}

/// How a program on a terminal is started.
pub(super) struct PtyStart<'a> {
    /// What a shell does with the program, which is `"$@"`, and the file `"$OUT"`.
    pub(super) shell: &'a str,
    pub(super) program: Vec<&'a str>,
    pub(super) env: Vec<(&'a str, &'a str)>,
}

impl<'a> PtyStart<'a> {
    /// `aside` with these arguments, without colour, standard output to a file.
    pub(super) fn aside(args: &[&'a str]) -> Self {
        Self {
            shell: PLAIN,
            program: [&[ASIDE], args].concat(),
            env: vec![("NO_COLOR", "1")],
        }
    }
}

impl PtyPerson {
    /// Plays a script with `aside run`, on the message `Go`.
    pub(super) fn runs(world: &TestWorld, script: &str, args: &[&str]) -> Self {
        let model = world.script(script);
        Self::starts(
            world,
            &PtyStart::aside(&[&["run", "-m", &model, "Go"], args].concat()),
        )
    }

    /// Starts a program in the workspace, on a terminal of 80 by 24 that nobody else has.
    pub(super) fn starts(world: &TestWorld, start: &PtyStart<'_>) -> Self {
        let pair = native_pty_system().openpty(PtySize::default()).unwrap();
        let place = |name| world.folder().join(name);
        let mut command = CommandBuilder::new("sh");
        command.args(["-c", start.shell, "sh"]);
        command.args(&start.program);
        command.cwd(place("work"));
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", place("home"));
        command.env("XDG_CONFIG_HOME", place("config"));
        command.env("XDG_STATE_HOME", place("state"));
        command.env("TMPDIR", world.folder());
        command.env("ASIDE_SANDBOX", "off");
        command.env("OUT", place("stdout"));
        for (name, value) in &start.env {
            command.env(name, value);
        }
        let child = pair.slave.spawn_command(command).unwrap();
        let terminal = PtyTerminal {
            screen: pair.master.try_clone_reader().unwrap(),
            keyboard: None,
            master: pair.master,
        };
        let watchdog = watch(pid(&*child));
        Self {
            child,
            terminal,
            seen: String::new(),
            half: Vec::new(),
            _watchdog: watchdog,
        }
    }

    /// Reads on until this text is on the screen, and gives all up to it.
    #[track_caller]
    pub(super) fn sees(&mut self, text: &str) -> String {
        loop {
            if let Some(at) = self.seen.find(text) {
                let rest = self.seen.split_off(at + text.len());
                return std::mem::replace(&mut self.seen, rest);
            }
            assert!(self.look(), "{text:?} is not on the screen:\n{}", self.seen);
        }
    }

    /// Reads on to the next place where something is to be typed, and gives all up to it.
    #[track_caller]
    pub(super) fn is_asked(&mut self) -> String {
        self.sees("\n> ")
    }

    /// Reads more of the screen. False: the program has left it.
    fn look(&mut self) -> bool {
        let mut piece = [0; 4096];
        match self.terminal.screen.read(&mut piece) {
            Ok(count @ 1..) => {
                self.half.extend_from_slice(&piece[..count]);
                let whole = whole(&self.half);
                let text = self.half.drain(..whole).collect();
                self.seen += &String::from_utf8(text).unwrap().replace("\r\n", "\n");
                true
            }
            _ => false,
        }
    }

    /// Types these keys, all at once.
    pub(super) fn types(&mut self, keys: &str) {
        let master = &self.terminal.master;
        let keyboard = self
            .terminal
            .keyboard
            .get_or_insert_with(|| master.take_writer().unwrap());
        keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Waits for the end, checks the exit code and gives the rest of the screen.
    #[track_caller]
    pub(super) fn ends(mut self, code: u32) -> String {
        while self.look() {}
        let ended = self.wait();
        assert_eq!(ended, code, "{}", self.seen);
        std::mem::take(&mut self.seen)
    }

    /// The terminal goes away; the program has to end by itself.
    pub(super) fn hangs_up(mut self) -> u32 {
        assert!(self.terminal.keyboard.is_none(), "it would type");
        let nowhere = native_pty_system().openpty(PtySize::default()).unwrap();
        drop(std::mem::replace(
            &mut self.terminal,
            PtyTerminal {
                screen: Box::new(std::io::empty()),
                keyboard: None,
                master: nowhere.master,
            },
        ));
        self.wait()
    }

    /// The program's process.
    pub(super) fn pid(&self) -> Pid {
        pid(&*self.child)
    }

    /// The exit code, or 256 and the number of the signal that ended it.
    fn wait(&mut self) -> u32 {
        let until = Instant::now() + PATIENCE;
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.exit_code() + u32::from(status.signal().is_some()) * 256;
            }
            assert!(Instant::now() < until, "it does not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }
}

impl Drop for PtyPerson {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            let _ = kill_process(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }
}

/// How many of these bytes are whole characters and line ends.
fn whole(bytes: &[u8]) -> usize {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text.len(),
        Err(error) => error.valid_up_to(),
    };
    valid - usize::from(bytes[..valid].ends_with(b"\r"))
}

fn pid(child: &dyn Child) -> Pid {
    Pid::from_raw(i32::try_from(child.process_id().unwrap()).unwrap()).unwrap()
}

/// Kills a program that takes too long: who reads its screen then reads its end.
fn watch(pid: Pid) -> Sender<()> {
    let (sender, ended) = channel();
    std::thread::spawn(move || {
        if ended.recv_timeout(PATIENCE) == Err(std::sync::mpsc::RecvTimeoutError::Timeout) {
            let _ = kill_process(pid, Signal::KILL);
        }
    });
    sender
}

/// What went to standard output.
pub(super) fn output(world: &TestWorld) -> String {
    fs::read_to_string(world.folder().join("stdout")).unwrap()
}
