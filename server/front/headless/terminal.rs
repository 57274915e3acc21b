//! The terminal on which a person is asked.
//!
//! One thread owns it: it alone reads and writes, shows one prompt at a time and keeps the others, and
//! waits for a key and for us in the same call. So a prompt that is withdrawn is gone at once, with
//! what was typed for it, and no answer can go to a prompt that was not on the screen. What a line means
//! is decided in [`super::ask`].
//!
//! Invariant: nothing typed before a prompt was shown answers it, and an unseen line ends, however it
//! ends, with the echo back on.

#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    fs::File,
    io::{self, PipeReader, PipeWriter, Read, Write},
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
};

use rustix::{
    event::{PollFd, PollFlags, poll},
    io::Errno,
    termios::{LocalModes, OptionalActions, QueueSelector, Termios, tcflush, tcgetattr, tcsetattr},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    ask::{TypedLine, parse_line, render},
    paint::Paint,
};
use crate::{
    turn::{effect::Prompt, input::PromptAnswer, question::AnswerType, record::PromptId},
    visible::one_line,
};

/// The longest line that is taken, in bytes.
const LINE: usize = 64 * 1024;

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
    Show(String),
    Close,
}

impl Terminal {
    /// The terminal that the process belongs to. What [`Terminal::show`] is given goes to standard error.
    ///
    /// # Errors
    /// There is none, or it cannot be opened.
    pub fn open(paint: Paint) -> io::Result<(Self, Answers)> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        Self::on(tty, Box::new(io::stderr()), paint)
    }

    fn on(tty: File, notes: Box<dyn Write + Send>, paint: Paint) -> io::Result<(Self, Answers)> {
        let (woken, wake) = io::pipe()?;
        let (orders, orders_in) = channel();
        let (answers, answers_out) = unbounded_channel();
        let desk = Desk {
            tty,
            notes,
            paint,
            woken,
            orders: orders_in,
            answers,
            open: VecDeque::new(),
            held: Vec::new(),
            line: Vec::new(),
            unseen: None,
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

    /// Shows text, whole lines, as soon as no prompt is on the screen. The text is shown as it is.
    pub fn show(&self, text: String) {
        self.order(Order::Show(text));
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
    /// Where lines that are not prompts go.
    notes: Box<dyn Write + Send>,
    paint: Paint,
    woken: PipeReader,
    orders: Receiver<Order>,
    answers: UnboundedSender<(PromptId, PromptAnswer)>,
    /// The first is on the screen.
    open: VecDeque<Box<Prompt>>,
    /// What is shown when no prompt is on the screen any more.
    held: Vec<String>,
    /// What was typed of a line that has not ended.
    line: Vec<u8>,
    /// There while what is typed is not shown.
    unseen: Option<Unseen>,
}

/// What there is to do.
enum Ready {
    Orders,
    Typed,
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
            let count = if self.open.is_empty() { 1 } else { 2 };
            match poll(&mut watched[..count], None) {
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
                if self.open.len() == 1 {
                    self.present()
                } else {
                    Ok(())
                }
            }
            Order::Dismiss(id, reason)
                if self.open.front().is_some_and(|prompt| prompt.id == id) =>
            {
                let gone = self
                    .paint
                    .dim(&format!("(no longer asked: {})", one_line(&reason)));
                self.write(&format!("\n{gone}\n"))?;
                self.next()
            }
            Order::Dismiss(id, _) => {
                self.open.retain(|prompt| prompt.id != id);
                Ok(())
            }
            Order::Show(text) if self.open.is_empty() => self.note(&text),
            Order::Show(text) => {
                self.held.push(text);
                Ok(())
            }
            Order::Close => Ok(()),
        }
    }

    fn close(&mut self) -> io::Result<()> {
        self.unseen = None;
        if !self.open.is_empty() {
            self.open.clear();
            self.write("\n")?;
        }
        self.next()
    }

    /// Shows the prompt that is first.
    fn present(&mut self) -> io::Result<()> {
        let Some(prompt) = self.open.front() else {
            return Ok(());
        };
        let shown = render(prompt, self.paint);
        if prompt.answer_type == AnswerType::Secret {
            self.unseen = Some(Unseen::begin(&self.tty)?);
        }
        tcflush(&self.tty, QueueSelector::IFlush)?;
        self.write(&shown)
    }

    /// Done with the first prompt; the next one, if there is one.
    fn next(&mut self) -> io::Result<()> {
        self.unseen = None;
        self.line.clear();
        self.open.pop_front();
        if self.open.is_empty() {
            for text in std::mem::take(&mut self.held) {
                self.note(&text)?;
            }
        }
        self.present()
    }

    /// Reads what was typed: a line or, after Ctrl-D, what there is of one.
    fn read(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        let count = match self.tty.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            read => read?,
        };
        self.line.extend_from_slice(&piece[..count]);
        let is_end = count == 0;
        if is_end && self.hung_up()? {
            // A terminal that goes away decides nothing.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_end && self.line.is_empty() {
            self.write("\n")?;
            return self.settle(PromptAnswer::Cancel);
        }
        if !is_end && !self.line.ends_with(b"\n") {
            return if self.line.len() > LINE {
                self.again("That line is too long.")
            } else {
                Ok(())
            };
        }
        if is_end {
            // Ctrl-D ends a line without moving to the next.
            self.write("\n")?;
        }
        let line = std::mem::take(&mut self.line);
        let Some(prompt) = self.open.front() else {
            return Ok(());
        };
        match std::str::from_utf8(&line) {
            Err(_) => self.again("That is not UTF-8 text."),
            Ok(line) => match parse_line(prompt, line.strip_suffix('\n').unwrap_or(line)) {
                TypedLine::Reply(answer) => self.settle(answer),
                TypedLine::Again(sentence) => self.again(&sentence),
            },
        }
    }

    /// Nobody is at the other end. Reading then gives what Ctrl-D gives: nothing.
    fn hung_up(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.tty, PollFlags::empty())];
        let now = rustix::event::Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut watched, Some(&now))?;
        Ok(watched[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
    }

    fn settle(&mut self, answer: PromptAnswer) -> io::Result<()> {
        if let Some(prompt) = self.open.front() {
            // Nobody listens any more: the turn has ended.
            let _ = self.answers.send((prompt.id.clone(), answer));
        }
        self.next()
    }

    fn again(&mut self, sentence: &str) -> io::Result<()> {
        self.line.clear();
        self.write(&format!("{sentence}\n> "))
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.tty.write_all(text.as_bytes())
    }

    fn note(&mut self, text: &str) -> io::Result<()> {
        self.notes.write_all(text.as_bytes())?;
        self.notes.flush()
    }
}

/// While it lives what is typed is not shown. What is left of it is dropped.
struct Unseen {
    tty: File,
    before: Termios,
}

impl Unseen {
    fn begin(tty: &File) -> io::Result<Self> {
        let before = tcgetattr(tty)?;
        let mut modes = before.clone();
        modes.local_modes.remove(LocalModes::ECHO);
        modes.local_modes.insert(LocalModes::ECHONL);
        let unseen = Self {
            tty: tty.try_clone()?,
            before,
        };
        tcsetattr(tty, OptionalActions::Now, &modes)?;
        Ok(unseen)
    }
}

impl Drop for Unseen {
    fn drop(&mut self) {
        // A half-typed secret must not be left for whoever reads the terminal next.
        let _ = tcflush(&self.tty, QueueSelector::IFlush);
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }
}
