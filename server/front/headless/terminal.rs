//! The terminal on which a person is asked.
//!
//! One thread owns it: it alone reads and writes, shows one prompt at a time and keeps the others, and
//! waits for a key and for us in the same call. So a prompt that is withdrawn is gone at once, with
//! what was typed for it, and no answer can go to a prompt that was not on the screen. What a line means
//! is decided in [`super::ask`]. What is going on stands in the last lines, which are taken away before anything else is
//! written.
//!
//! Invariant: nothing typed before a prompt was shown answers it, and a line ends, however it ends, with the terminal's
//! modes as they were before.

#[cfg(test)]
mod tests;
mod typed;

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, PipeReader, PipeWriter, Read, Write},
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use aside_base::visible::one_line;
use aside_turn::{effect::Prompt, input::PromptAnswer, question::AnswerType, record::PromptId};
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    termios::{QueueSelector, tcflush, tcgetwinsize},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    ask::{change, may_settle_others, render, render_after_change},
    drawn::{Drawn, can_move},
    line::TypedText,
    lines::Lines,
    modes::TypingModes,
    pager,
    paint::Paint,
    show::ShownText,
};

/// How long the next prompt is held back after an answer that may settle it too.
const HELD: Duration = Duration::from_secs(1);

/// A terminal with a person at it. Dropping it takes the open prompt off the screen, shows what was held
/// back, and leaves the terminal as it was.
pub struct Terminal {
    orders: Sender<Order>,
    /// A byte in it wakes the thread to look at `orders`.
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

/// What the person made of each prompt, in order. Ends when the terminal went away.
pub type Answers = UnboundedReceiver<(PromptId, PromptAnswer)>;

enum Order {
    Ask(Box<Prompt>),
    Dismiss(PromptId, String),
    Show(ShownText),
    Live(Vec<String>),
    GoOn,
    Close,
}

impl Terminal {
    /// The terminal that the process belongs to. What [`Terminal::show`] is given goes to standard error and output.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub fn open(paint: Paint) -> io::Result<(Self, Answers)> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let lines = Lines {
            notes: Box::new(io::stderr()),
            answer: Box::new(io::stdout()),
            drawn: Drawn::new(can_move(std::env::var_os("TERM").as_deref()), paint),
            pager: pager::pager(std::env::var_os("PAGER").as_deref()),
        };
        Self::on(tty, lines, paint, HELD)
    }

    fn on(
        tty: File,
        lines: Lines,
        paint: Paint,
        held_for: Duration,
    ) -> io::Result<(Self, Answers)> {
        let (woken, wake) = io::pipe()?;
        let (orders, orders_in) = channel();
        let (answers, answers_out) = unbounded_channel();
        let desk = Desk {
            tty,
            lines,
            paint,
            woken,
            orders: orders_in,
            answers,
            open: VecDeque::new(),
            held: Vec::new(),
            line: Vec::new(),
            typed: None,
            modes: None,
            held_for,
            held_until: None,
        };
        let thread = std::thread::Builder::new()
            .name("terminal".into())
            .spawn(move || {
                // Whatever is wrong with the terminal, nobody can be asked there any more: the end of the
                // answers says so.
                if let Err(error) = desk.serve() {
                    tracing::warn!(target: "aside::terminal", %error, "the terminal is gone");
                }
            })?;
        Ok((
            Self {
                orders,
                wake,
                thread: Some(thread),
            },
            answers_out,
        ))
    }

    /// Puts a prompt to the person, after those that wait already.
    pub fn ask(&self, prompt: Box<Prompt>) {
        self.order(Order::Ask(prompt));
    }

    /// Takes a prompt back, with the reason that the person is told.
    pub fn dismiss(&self, prompt: PromptId, reason: String) {
        self.order(Order::Dismiss(prompt, reason));
    }

    /// Shows text as soon as no prompt is on the screen. The text is shown as it is.
    pub fn show(&self, text: ShownText) {
        self.order(Order::Show(text));
    }

    /// Shows these lines below all others while no prompt is on the screen, in place of those that stand there. A
    /// terminal whose cursor cannot be moved shows none.
    pub fn live(&self, lines: Vec<String>) {
        self.order(Order::Live(lines));
    }

    /// The process goes on that was stopped with Ctrl-Z. Whoever had the terminal meanwhile left modes of their own, in
    /// which even a secret would be seen as it is typed: the prompt is shown anew, in ours.
    pub fn go_on(&self) {
        self.order(Order::GoOn);
    }

    fn order(&self, order: Order) {
        // A thread that has ended said so by ending the answers.
        if self.orders.send(order).is_ok() {
            let _ = (&self.wake).write_all(&[0]);
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.order(Order::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// What the thread owns.
struct Desk {
    tty: File,
    lines: Lines,
    paint: Paint,
    woken: PipeReader,
    orders: Receiver<Order>,
    answers: UnboundedSender<(PromptId, PromptAnswer)>,
    /// The first is on the screen.
    open: VecDeque<Box<Prompt>>,
    /// What is shown when no prompt is on the screen any more.
    held: Vec<ShownText>,
    /// What was typed of a line that has not ended, and that the terminal itself lets a person edit.
    line: Vec<u8>,
    /// The same, where it is edited here.
    typed: Option<TypedText>,
    /// There while something is typed that the terminal does not show by itself.
    modes: Option<TypingModes>,
    /// How long a prompt is held back.
    held_for: Duration,
    /// Until then the first prompt is not on the screen: an answer may have settled it too.
    held_until: Option<Instant>,
}

/// What there is to do.
enum Ready {
    Orders,
    Typed,
    /// A prompt that was held back is still open.
    Held,
}

impl Desk {
    fn serve(mut self) -> io::Result<()> {
        loop {
            match self.wait()? {
                Ready::Orders => {
                    // What is left of the bytes wakes us again, to an empty list.
                    let _ = self.woken.read(&mut [0; 64])?;
                    while let Ok(order) = self.orders.try_recv() {
                        if matches!(order, Order::Close) {
                            return self.close();
                        }
                        self.take(order)?;
                    }
                }
                Ready::Typed => self.read()?,
                Ready::Held => self.present()?,
            }
        }
    }

    /// Waits for orders and, while a prompt is on the screen, for a line.
    fn wait(&self) -> io::Result<Ready> {
        loop {
            let mut watched = [
                PollFd::new(&self.woken, PollFlags::IN),
                PollFd::new(&self.tty, PollFlags::IN),
            ];
            let is_on_screen = !self.open.is_empty() && self.held_until.is_none();
            let count = if is_on_screen { 2 } else { 1 };
            let left = self.held_until.map(|until| until - Instant::now());
            let left = left.and_then(|left| Timespec::try_from(left).ok());
            match poll(&mut watched[..count], left.as_ref()) {
                Ok(0) => return Ok(Ready::Held),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if !watched[0].revents().is_empty() => return Ok(Ready::Orders),
                Ok(_) => return Ok(Ready::Typed),
            }
        }
    }

    fn take(&mut self, order: Order) -> io::Result<()> {
        match order {
            Order::Ask(prompt) => {
                self.open.push_back(prompt);
                if self.open.len() == 1 && self.held_until.is_none() {
                    self.present()
                } else {
                    Ok(())
                }
            }
            Order::Dismiss(id, reason)
                if self.held_until.is_none()
                    && self.open.front().is_some_and(|prompt| prompt.id == id) =>
            {
                let gone = self
                    .paint
                    .dim(&format!("(no longer asked: {})", one_line(&reason)));
                self.write(&format!("\n{gone}\n"))?;
                self.next()
            }
            Order::Dismiss(id, _) => {
                self.open.retain(|prompt| prompt.id != id);
                if self.open.is_empty() {
                    self.release()?;
                }
                Ok(())
            }
            Order::Show(text) if self.open.is_empty() => {
                let width = self.width();
                self.lines.write(&text, width)
            }
            Order::Show(text) => {
                self.held.push(text);
                Ok(())
            }
            Order::Live(lines) => {
                self.lines.drawn.wants(lines);
                if !self.open.is_empty() {
                    return Ok(());
                }
                self.be_idle()?;
                self.lines.draw(self.width())
            }
            Order::GoOn => {
                self.modes = None;
                self.typed = None;
                self.line.clear();
                if self.held_until.is_some() {
                    return Ok(());
                }
                self.present()
            }
            Order::Close => Ok(()),
        }
    }

    fn close(&mut self) -> io::Result<()> {
        self.modes = None;
        self.held_until = None;
        self.lines.drawn.wants(Vec::new());
        self.lines.erase(self.width())?;
        if !self.open.is_empty() {
            self.open.clear();
            self.write("\n")?;
        }
        self.next()
    }

    /// What is typed while nothing is asked is not shown: it would stand in the last lines.
    fn be_idle(&mut self) -> io::Result<()> {
        if self.modes.is_none() && self.lines.drawn.can_move() {
            self.modes = TypingModes::idle(&self.tty)?;
        }
        Ok(())
    }

    /// Shows the prompt that is first.
    fn present(&mut self) -> io::Result<()> {
        self.held_until = None;
        let Some(prompt) = self.open.front() else {
            return Ok(());
        };
        // Those before are given back first, so that they are what is found when these end.
        self.modes = None;
        self.lines.erase(self.width())?;
        let shown = match self.in_pager(prompt) {
            true => render_after_change(prompt, self.paint, self.width()),
            false => render(prompt, self.paint, self.width()),
        };
        if prompt.answer_type == AnswerType::Secret {
            self.modes = Some(TypingModes::unseen(&self.tty)?);
        } else if self.lines.drawn.can_move() {
            self.modes = Some(TypingModes::edited(&self.tty)?);
            self.typed = Some(TypedText::answering(&prompt.answer_type));
        }
        tcflush(&self.tty, QueueSelector::IFlush)?;
        self.write(&shown)
    }

    /// Shows the change that a prompt asks about in the person's pager, where it has more lines than the terminal. False
    /// where it does not, or cannot be shown there.
    fn in_pager(&self, prompt: &Prompt) -> bool {
        let (Some(pager), Some(change)) = (&self.lines.pager, change(prompt, self.paint)) else {
            return false;
        };
        let rows = tcgetwinsize(&self.tty).map_or(0, |size| size.ws_row);
        if change.lines().count() <= rows.into() {
            return false;
        }
        let shown = pager::show(pager, &change, &self.tty);
        if let Err(error) = &shown {
            tracing::warn!(target: "aside::terminal", %error, "a change is shown without the pager");
        }
        shown.is_ok()
    }

    /// Done with the first prompt; the next one, if there is one.
    fn next(&mut self) -> io::Result<()> {
        self.modes = None;
        self.typed = None;
        self.line.clear();
        self.open.pop_front();
        if self.open.is_empty() {
            self.lines.drawn.wrote("\n");
            self.release()?;
        }
        if self.held_until.is_some() {
            return Ok(());
        }
        self.present()
    }

    /// No prompt is open: shows what was held back.
    fn release(&mut self) -> io::Result<()> {
        let width = self.width();
        for text in std::mem::take(&mut self.held) {
            self.lines.write(&text, width)?;
        }
        Ok(())
    }

    fn settle(&mut self, answer: PromptAnswer) -> io::Result<()> {
        if may_settle_others(&answer) {
            self.held_until = Some(Instant::now() + self.held_for);
        }
        if let Some(prompt) = self.open.front() {
            // Nobody listens any more: the turn has ended.
            let _ = self.answers.send((prompt.id.clone(), answer));
        }
        self.next()
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.tty.write_all(text.as_bytes())
    }

    /// Columns of the terminal.
    fn width(&self) -> usize {
        let size = tcgetwinsize(&self.tty).map_or(0, |size| size.ws_col);
        match size {
            0 => 80,
            columns => columns.into(),
        }
    }
}
