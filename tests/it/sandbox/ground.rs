//! A place from which to break out, as root and as an ordinary user.

use std::{
    fs,
    os::unix::fs::{PermissionsExt, lchown},
    path::{Path, PathBuf},
    process::Command,
};

pub(crate) use crate::open::program;
use crate::{
    open::base,
    world::{ProgramResult, TestWorld, start},
};

/// The user who may do nothing.
const NOBODY: u32 = 65534;

/// Who runs the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum User {
    /// Who runs the tests.
    Same,
    /// One without any right.
    Nobody,
}

/// The users as whom something can be tried here: only root can become another one.
pub(crate) fn users() -> &'static [User] {
    if rustix::process::getuid().is_root() {
        &[User::Same, User::Nobody]
    } else {
        &[User::Same]
    }
}

/// A workspace whose sandbox is what the user's machine has, and a folder beside it that is none of its business.
pub(crate) struct SandboxGround {
    pub(crate) world: TestWorld,
    pub(crate) user: User,
}

impl SandboxGround {
    pub(crate) fn new(user: User) -> Self {
        Self::below(base(), user)
    }

    /// The same in a folder where everybody may go.
    pub(crate) fn below(base: &Path, user: User) -> Self {
        let world = TestWorld::below(base);
        fs::create_dir(world.folder().join("outside")).unwrap();
        let open = fs::Permissions::from_mode(0o755);
        fs::set_permissions(world.folder(), open).unwrap();
        Self { world, user }
    }

    /// A path that is none of the workspace's business.
    pub(crate) fn outside(&self, path: &str) -> PathBuf {
        self.world.folder().join("outside").join(path)
    }

    /// Everything here is made the user's.
    pub(crate) fn hand_over(&self) {
        if self.user == User::Nobody {
            give(self.world.folder());
        }
    }

    /// A program as the user runs it, in the workspace.
    pub(crate) fn command(&self, program: &Path, args: &[&str]) -> Command {
        let nobody = NOBODY.to_string();
        let mut words = vec![];
        if self.user == User::Nobody {
            words.extend([
                "setpriv",
                "--reuid",
                &nobody,
                "--regid",
                &nobody,
                "--clear-groups",
            ]);
        }
        words.push(program.to_str().unwrap());
        words.extend(args);
        let mut command = self.world.within("setsid", &words);
        command.env_remove("ASIDE_SANDBOX");
        command
    }

    /// Runs a program, in the workspace, in mounts of its own that this line makes in the folder outside.
    pub(crate) fn run_in_mounts(&self, made: &str, words: &[&str]) -> ProgramResult {
        let outside = self.outside("");
        let line = format!(
            "here=$PWD; cd '{}' && {made} && cd \"$here\" && exec \"$@\"",
            outside.display()
        );
        let args = [&["-Urm", "sh", "-c", &line, "sh"], words].concat();
        start(&mut self.command(Path::new("unshare"), &args)).end()
    }

    /// Aside with these arguments.
    pub(crate) fn aside(&self, args: &[&str]) -> ProgramResult {
        self.hand_over();
        start(&mut self.command(program(), args)).end()
    }

    /// One turn in which the model runs these commands at once, each by its id and in its folder.
    pub(crate) fn run(&self, commands: &[SandboxedCall<'_>], args: &[&str]) -> ProgramResult {
        let model = self.world.script(&script(commands));
        self.aside(
            &[
                &["run", "-m", &model, "Go", "--trust", "--non-interactive"],
                args,
            ]
            .concat(),
        )
    }
}

/// The arguments of a turn that plays this model in the mode `auto`, with nobody there.
pub(crate) fn auto_run<'a>(model: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let run = ["run", "-m", model, "Go", "--trust", "--non-interactive"];
    [&run[..], &["--mode", "auto"], more].concat()
}

/// A call of `run_command`.
#[derive(Clone, Debug)]
pub(crate) struct SandboxedCall<'a> {
    pub(crate) id: &'a str,
    pub(crate) command: String,
    pub(crate) cwd: &'a str,
}

impl SandboxedCall<'_> {
    /// The call as a script has it.
    fn scripted(&self) -> String {
        let text = |text: &str| toml::Value::from(text).to_string();
        format!(
            "{{ call = 'run_command', id = {}, arguments = {{ command = {}, cwd = {} }} }},\n",
            text(self.id),
            text(&self.command),
            text(self.cwd)
        )
    }
}

/// The script of a model that makes these calls in one step.
pub(crate) fn script(commands: &[SandboxedCall<'_>]) -> String {
    script_of_messages([commands])
}

/// The script of a model that makes these calls in one turn, one after another.
pub(crate) fn script_of_steps(commands: &[SandboxedCall<'_>]) -> String {
    script_of_messages(commands.chunks(1))
}

/// The script of a model that makes the calls of each message at once, in one turn.
pub(crate) fn script_of_messages<'a>(
    messages: impl IntoIterator<Item = &'a [SandboxedCall<'a>]>,
) -> String {
    let replies = messages.into_iter().enumerate().map(|(nth, calls)| {
        let calls: String = calls.iter().map(SandboxedCall::scripted).collect();
        let step = nth + 1;
        format!("[[reply]]\nwhen = {{ step = {step} }}\nsay = [\n{calls}]\n")
    });
    replies.collect::<String>() + "[[reply]]\nsay = [{ text = 'Done.' }]\n"
}

fn give(path: &Path) {
    lchown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    if fs::symlink_metadata(path).unwrap().is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            give(&entry.unwrap().path());
        }
    }
}
