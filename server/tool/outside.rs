//! A command that failed inside the sandbox for want of what that keeps from it: a person may let it run outside.
//!
//! Nothing that a model writes asks for this. The prompt shows the command whole, and what is allowed is bound to a hash
//! of its own: what may run inside may not run outside.

use std::{path::Path, sync::Arc};

use aside_base::visible::{in_sight, short_line, visible};
use aside_turn::{
    effect::{Approval, CallWork},
    input::Preview,
    question::{Answer, AnswerType, Persistence, Question},
    record::{Permission, Vocabulary},
};

use super::{
    ToolContext,
    process::{CommandEnd, Ended},
};

/// The id of the question.
pub(super) const QUESTION: &str = "outside";

/// Messages of programs that the sandbox hinders, with the access that they want.
const SIGNS: &[(&str, &str)] = &[
    ("read-only file system", WRITES),
    ("erofs", WRITES),
    ("device or resource busy", MOVES),
    ("ebusy", MOVES),
    ("cross-device link", MOVES),
    ("exdev", MOVES),
    ("network is unreachable", NETWORK),
    ("enetunreach", NETWORK),
    ("could not resolve", NETWORK),
    ("couldn't resolve", NETWORK),
    ("failure in name resolution", NETWORK),
    ("name or service not known", NETWORK),
    ("failed to lookup address", NETWORK),
    ("eai_again", NETWORK),
    ("[the sandbox lets nothing reach", NETWORK),
    ("no new privileges", PRIVILEGES),
    ("effective uid is not 0", PRIVILEGES),
    ("docker daemon", SOCKETS),
    ("listen eacces", SOCKETS),
    ("connect eacces", SOCKETS),
    #[cfg(target_os = "macos")]
    ("operation not permitted", REACHES),
    #[cfg(target_os = "macos")]
    ("eperm", REACHES),
];

#[cfg(target_os = "macos")]
const REACHES: &str = "it wants to write or reach what the sandbox keeps from it";
const WRITES: &str = "it wants to write where the sandbox lets nothing write";
const MOVES: &str = "it wants to move or remove what the sandbox keeps in its place";
const NETWORK: &str = "it wants to reach what the sandbox lets nothing reach";
const PRIVILEGES: &str = "it wants privileges, of which there are none inside the sandbox";
const SOCKETS: &str = "it wants to reach another program, which the sandbox lets nothing do";

/// The reason why a person is asked again each time.
const ONCE: &str =
    "\nCommands inside may change what it runs, so that it can be let out for this once alone.";

/// A command as it would run outside.
#[derive(Clone, Debug)]
pub(super) struct OutsideCommand<'a> {
    /// The command line.
    pub(super) command: &'a str,
    /// The folder that it runs in.
    pub(super) cwd: &'a Path,
    /// A rule that would let it run outside unasked, as a sentence.
    pub(super) rule: Option<String>,
    /// Whether it may be let out for longer than once.
    pub(super) may_last: bool,
}

/// What a command wanted that failed because of the sandbox, as far as its output says; none where it did not fail, or
/// for another reason.
pub(super) fn hindrance(ended: &Ended) -> Option<&'static str> {
    if !matches!(ended.how, CommandEnd::Exit(1..)) {
        return None;
    }
    let output = ended.output.to_lowercase();
    let sign = SIGNS.iter().find(|(sign, _)| output.contains(sign));
    sign.map(|(_, what)| *what)
}

impl OutsideCommand<'_> {
    /// Parts that an approval to run it outside is bound to.
    pub(super) fn parts(&self) -> [String; 3] {
        self.parts_as("run_command outside the sandbox")
    }

    /// Parts that an approval to run it in this way is bound to.
    pub(super) fn parts_as(&self, way: &str) -> [String; 3] {
        let cwd = self.cwd.to_string_lossy().into_owned();
        [way.to_owned(), self.command.to_owned(), cwd]
    }

    fn hash(&self) -> String {
        aside_base::digest::of_parts(&self.parts().each_ref().map(String::as_str))
    }

    /// Whether a person let it run outside before, for the turn or for good.
    pub(super) fn is_allowed(&self, context: &ToolContext) -> bool {
        let hash = self.hash();
        // Looked at again: what it names may be there only now, and programs may take code from what a command made.
        self.may_last
            && !context.sandbox.has_made()
            && (context.sandbox.is_let_out(&hash) || (context.approved)(&hash))
    }

    /// Asks a person, if one is there, whether it may run outside, as inside it failed: `why`. False where nobody is
    /// asked, or the answer is no.
    pub(super) async fn ask(&self, work: &CallWork, context: &Arc<ToolContext>, why: &str) -> bool {
        let answer = (context.ask_live)(work.call, self.question(context, why)).await;
        let word = match &answer {
            Ok(Answer::Value(value)) => value.as_str().unwrap_or_default(),
            _ => "",
        };
        match Permission::of(word) {
            Some(Permission::Once) => {}
            Some(Permission::Turn) => context.sandbox.let_out(self.hash()),
            Some(Permission::Always) => {
                context.sandbox.let_out(self.hash());
                (context.keep_approval)(self.approval(&work.tool));
            }
            Some(Permission::No) | None => return false,
        }
        true
    }

    fn question(&self, context: &ToolContext, why: &str) -> Question {
        let why = context.sandbox.with_made(why.to_owned());
        let mut context = self.shown();
        context += &format!("\nInside it failed: {why}.\nOutside it can do all that you can.");
        if let Some(rule) = self.rule.as_ref().filter(|_| self.may_last) {
            context += &format!("\n{rule}");
        }
        let mut options = Permission::words(false);
        if !self.may_last {
            let lasts = [Permission::Turn, Permission::Always].map(Permission::word);
            options.retain(|word| !lasts.contains(&word.as_str()));
            context += ONCE;
        }
        Question {
            context: Some(context),
            exclusive: true,
            persistence: Persistence::None,
            ..Question::new(
                QUESTION,
                format!("{}?", self.title()),
                AnswerType::Select { options },
            )
        }
    }

    fn approval(&self, tool: &str) -> Approval {
        Approval {
            hash: self.hash(),
            tool: tool.to_owned(),
            title: self.title(),
            // As text, so that a list of approvals tells it from the same inside.
            preview: Some(Preview::Text { text: self.shown() }),
        }
    }

    fn title(&self) -> String {
        format!(
            "Run `{}` outside the sandbox",
            short_line(&in_sight(self.command), 80)
        )
    }

    /// All that an approval is bound to, as a person sees it.
    fn shown(&self) -> String {
        let cwd = self.cwd.to_string_lossy();
        let (command, cwd) = (in_sight(self.command), visible(&cwd));
        format!("{command}\nin {cwd}\noutside the sandbox")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_failure_that_speaks_of_the_walls_counts() {
        let check = |how: CommandEnd, output: &str, expected: Option<&str>| {
            let output = output.to_owned();
            let ended = Ended { how, output };
            assert_eq!(hindrance(&ended), expected, "{ended:?}");
        };
        let failed = || CommandEnd::Exit(1);
        check(
            failed(),
            "sh: cannot create /x: Read-only file system",
            Some(WRITES),
        );
        check(failed(), "Error: EROFS: read-only", Some(WRITES));
        check(
            failed(),
            "mv: cannot move 'a' to 'b': Device or resource busy",
            Some(MOVES),
        );
        check(
            failed(),
            "OSError: [Errno 18] Invalid cross-device link",
            Some(MOVES),
        );
        check(failed(), "npm error code EBUSY", Some(MOVES));
        check(
            failed(),
            "Error: listen EACCES: permission denied /tmp/tsx-0/3.pipe",
            Some(SOCKETS),
        );
        check(failed(), "connect: Network is unreachable", Some(NETWORK));
        check(
            failed(),
            "curl: (6) Could not resolve host: crates.io",
            Some(NETWORK),
        );
        check(failed(), "npm error code EAI_AGAIN", Some(NETWORK));
        check(
            failed(),
            "[The sandbox lets nothing reach x:443.]",
            Some(NETWORK),
        );
        check(
            failed(),
            "Cannot connect to the Docker daemon at …",
            Some(SOCKETS),
        );
        check(
            failed(),
            "sudo: The \"no new privileges\" flag is set",
            Some(PRIVILEGES),
        );
        check(failed(), "error[E0308]: mismatched types", None);
        check(failed(), "Permission denied", None);
        check(CommandEnd::Exit(0), "Read-only file system", None);
        check(CommandEnd::TimedOut, "Network is unreachable", None);
    }
}
