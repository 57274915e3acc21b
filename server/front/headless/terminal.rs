//! The terminal on which a person is asked.
//!
//! One thread owns the terminal. It alone reads and writes, shows one prompt at a time and queues the others. A single
//! `poll` waits for keys and for orders, so a withdrawn prompt disappears at once with its half-typed reply, and no
//! reply can reach a prompt that was not on the screen. [`super::ask`] interprets the replies. Status lines are erased
//! before anything else is written.
//!
//! Invariant: nothing typed before a prompt was shown answers it, and the terminal's modes are restored after every
//! line.

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

use aside_base::{
    system::terminal::{TypingModes, WaitEnd, drop_typed, size, wait},
    visible::one_line,
};
use aside_turn::{effect::Prompt, input::PromptAnswer, question::AnswerType, record::PromptId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    ask::{change, may_settle_others, render, render_after_change},
    drawn::{Drawn, can_move},
    line::TypedText,
    lines::Lines,
    pager,
    paint::Paint,
    show::ShownText,
};

/// Time for which the next prompt is held back after an answer that may settle it too.
const HOLD_LIMIT: Duration = Duration::from_secs(1);

/// A terminal with a person at it. Dropping it removes the open prompt, shows the text that was held back, and restores
/// the terminal.
pub struct Terminal {
    orders: Sender<Order>,
    /// Wakes the thread to read `orders`.
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

/// Replies to prompts, in order. Ends when the terminal is closed.
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
    /// Opens the terminal of the process. Text for [`Terminal::show`] goes to standard error and output.
    ///
    /// # Errors
    /// Fails if there is no terminal or it cannot be opened.
    pub fn open(paint: Paint) -> io::Result<(Self, Answers)> {
        let tty = File::options().read(true).write(true).open("/dev/tty")?;
        let lines = Lines {
            notes: Box::new(io::stderr()),
            answer: Box::new(io::stdout()),
            drawn: Drawn::new(can_move(std::env::var_os("TERM").as_deref()), paint),
            pager: pager::pager(std::env::var_os("PAGER").as_deref()),
        };
        Self::on(tty, lines, paint, HOLD_LIMIT)
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
                // After any error nobody can be asked here: the end of `answers` reports that.
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

    /// Queues a prompt.
    pub fn ask(&self, prompt: Box<Prompt>) {
        self.order(Order::Ask(prompt));
    }

    /// Withdraws a prompt, with a reason for the person.
    pub fn dismiss(&self, prompt: PromptId, reason: String) {
        self.order(Order::Dismiss(prompt, reason));
    }

    /// Shows text unchanged, as soon as no prompt is on the screen.
    pub fn show(&self, text: ShownText) {
        self.order(Order::Show(text));
    }

    /// Sets the status lines, which are shown while no prompt is on the screen. A terminal whose cursor cannot be moved
    /// shows none.
    pub fn live(&self, lines: Vec<String>) {
        self.order(Order::Live(lines));
    }

    /// Continues after Ctrl-Z. The program that had the terminal meanwhile may have left other modes, in which even a
    /// secret would be visible. The prompt is shown again, in the right modes.
    pub fn go_on(&self) {
        self.order(Order::GoOn);
    }

    fn order(&self, order: Order) {
        // A thread that has ended reported that by ending `answers`.
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

/// The state of the thread.
struct Desk {
    tty: File,
    lines: Lines,
    paint: Paint,
    woken: PipeReader,
    orders: Receiver<Order>,
    answers: UnboundedSender<(PromptId, PromptAnswer)>,
    /// Open prompts; the first one is on the screen.
    open: VecDeque<Box<Prompt>>,
    /// Text to show when no prompt is on the screen any more.
    held: Vec<ShownText>,
    /// Unfinished line, if the terminal itself edits it.
    line: Vec<u8>,
    /// Unfinished line, if it is edited here.
    typed: Option<TypedText>,
    /// Changed modes, while hidden or self-edited input is typed.
    modes: Option<TypingModes>,
    /// Time for which prompts are held back.
    held_for: Duration,
    /// End of the time in which the first prompt is held back, because an answer may have settled it too.
    held_until: Option<Instant>,
}

impl Desk {
    fn serve(mut self) -> io::Result<()> {
        loop {
            match self.wait()? {
                WaitEnd::Woken => {
                    // Further bytes in the pipe only cause a wake-up without orders.
                    let _ = self.woken.read(&mut [0; 64])?;
                    while let Ok(order) = self.orders.try_recv() {
                        if matches!(order, Order::Close) {
                            return self.close();
                        }
                        self.take(order)?;
                    }
                }
                WaitEnd::Typed => self.read()?,
                WaitEnd::TimeUp => self.present()?,
            }
        }
    }

    /// Waits for orders and, while a prompt is on the screen, for input.
    fn wait(&self) -> io::Result<WaitEnd> {
        let is_on_screen = !self.open.is_empty() && self.held_until.is_none();
        let left = self.held_until.map(|until| until - Instant::now());
        wait(&self.woken, is_on_screen.then_some(&self.tty), left)
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

    /// Hides input while nothing is asked, so that it does not disturb the status lines.
    fn be_idle(&mut self) -> io::Result<()> {
        if self.modes.is_none() && self.lines.drawn.can_move() {
            self.modes = TypingModes::idle(&self.tty)?;
        }
        Ok(())
    }

    /// Shows the first prompt.
    fn present(&mut self) -> io::Result<()> {
        self.held_until = None;
        let Some(prompt) = self.open.front() else {
            return Ok(());
        };
        // The original modes are restored first, so that the new ones restore them in turn.
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
        drop_typed(&self.tty)?;
        self.write(&shown)
    }

    /// Shows the change of a prompt in the user's pager if it is longer than the screen. Returns false if it is shorter
    /// or the pager fails.
    fn in_pager(&self, prompt: &Prompt) -> bool {
        let (Some(pager), Some(change)) = (&self.lines.pager, change(prompt, self.paint)) else {
            return false;
        };
        let (_, rows) = size(&self.tty);
        if change.lines().count() <= rows {
            return false;
        }
        let shown = pager::show(pager, &change, &self.tty);
        if let Err(error) = &shown {
            tracing::warn!(target: "aside::terminal", %error, "a change is shown without the pager");
        }
        shown.is_ok()
    }

    /// Removes the first prompt and shows the next one.
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

    /// Shows the text that was held back, now that no prompt is open.
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
            // An error means that the turn has ended.
            let _ = self.answers.send((prompt.id.clone(), answer));
        }
        self.next()
    }

    fn write(&mut self, text: &str) -> io::Result<()> {
        self.tty.write_all(text.as_bytes())
    }

    /// Width of the terminal in columns.
    fn width(&self) -> usize {
        match size(&self.tty) {
            (0, _) => 80,
            (columns, _) => columns,
        }
    }
}
