//! Questions that are open when their call ends, at a terminal.

use rustix::process::{Signal, kill_process};

use super::person::{PtyPerson, PtyStart};
use crate::outlives::{CallsEnd, ENDS, KINDS, OpenGround, OpenKind};

/// A question is open; then its call ends so.
fn ends(ground: &OpenGround, kind: OpenKind, end: CallsEnd) {
    ground.limit(end == CallsEnd::TimeOver);
    let args = ["run", "-m", &ground.model, "--trust", end.message()];
    let mut person = PtyPerson::starts(&ground.world, &PtyStart::aside(&args));
    person.is_asked();
    let yes = match kind {
        OpenKind::Permission | OpenKind::Delivery => "y\n",
        _ => "1\n",
    };
    let code = match end {
        CallsEnd::Answered => {
            person.types(yes);
            if matches!(kind, OpenKind::ServerMeanwhile | OpenKind::ServerInstead) {
                // Its second field may be left out.
                person.is_asked();
                person.types("\n");
            }
            0
        }
        CallsEnd::Dismissed => {
            person.types("\x04");
            0
        }
        CallsEnd::Unshown => return assert_eq!(person.hangs_up(), 129),
        CallsEnd::Cancelled => {
            person.types("\x03");
            130
        }
        CallsEnd::TimeOver => 5,
        CallsEnd::ServerGone => {
            ground.kill_server();
            if kind != OpenKind::ServerMeanwhile {
                person.types(yes);
            }
            if kind == OpenKind::ServerInstead {
                person.is_asked();
                person.types("\n");
            }
            0
        }
        CallsEnd::TakenBack => {
            ground.go();
            person.sees("(no longer asked: withdrawn)");
            ground.go();
            0
        }
        CallsEnd::WentOn => {
            ground.go();
            0
        }
        CallsEnd::ClientGone => {
            kill_process(person.pid(), Signal::TERM).unwrap();
            143
        }
    };
    person.ends(code);
}

fn check(kind: OpenKind) -> usize {
    let ground = OpenGround::new(kind);
    let cells: Vec<CallsEnd> = ENDS.into_iter().filter(|end| end.is_of(kind)).collect();
    for end in &cells {
        ends(&ground, kind, *end);
        ground.limit(false);
        let next = ["run", "--trust", "--continue", "-m", &ground.model, "Next"];
        let next = ground.world.aside(&next);
        assert_eq!(
            (next.code, next.stdout.as_str()),
            (0, "Fine.\n"),
            "{kind:?}, {end:?}: {next:?}"
        );
    }
    ground.is_settled();
    cells.len()
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn whatever_is_open_ends_with_its_call_at_the_terminal() {
    let cells = std::thread::scope(|scope| {
        let all = KINDS.map(|kind| scope.spawn(move || check(kind)));
        all.into_iter()
            .map(|one| one.join().unwrap())
            .sum::<usize>()
    });
    eprintln!("{cells} ends at the terminal: the next turn begins");
}
