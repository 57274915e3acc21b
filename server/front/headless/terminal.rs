//! The terminal on which a person is asked.
//!
//! One thread owns the terminal. It alone reads and writes, shows one prompt at a time and queues the others. A single
//! `poll` waits for keys and for orders, so a withdrawn prompt disappears at once with its half-typed reply, and no
//! reply can reach a prompt that was not on the screen. [`super::ask`] interprets the replies. Status lines are erased
//! before anything else is written.
//!
//! In the background the terminal is another's: nothing is read from it, its modes stay, nothing is drawn on it, and a
//! prompt waits until the process is in the foreground.
//!
//! Invariant: nothing typed before a prompt was shown answers it, and the terminal's modes are restored after every
//! line.

#[cfg(test)]
#[cfg(unix)]
mod tests;
mod typed;

use std::{
    collections::VecDeque,
    io::{self, IsTerminal, Write},
    sync::mpsc::{Receiver, Sender, channel},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use aside_base::{
    system::terminal::{
        KeptModes, Tty, TypingModes, WaitEnd, Waker, Woken, drop_typed, is_hung_up,
        is_in_background, wait, waking,
    },
    visible::one_line,
};
use aside_turn::{effect::Prompt, input::PromptAnswer, question::AnswerType, record::PromptId};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use unicode_width::UnicodeWidthStr;

use super::{
    ask::{change, may_settle_others, render, render_after_change},
    drawn::{Drawn, can_move},
    line::TypedText,
    lines::Lines,
    pager::{RunningPager, pager},
    paint::Paint,
    show::ShownText,
    wrap::wrapped,
};

/// Time for which the next prompt is held back after an answer that may settle it too.
const HOLD_LIMIT: Duration = Duration::from_secs(1);
/// Time after which a prompt that waits in the background looks for the foreground again: no signal says that it came.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// Time after which the end of a pager is looked for again.
const PAGER_STEP: Duration = Duration::from_millis(50);
/// What is said in the background in place of a prompt.
const WAITS: &str = "A question waits, but this job is in the background: `fg` brings it to the foreground; below `timeout`, \
                     start it with `timeout --foreground`.";

/// A terminal with a person at it. Dropping it removes the open prompt, shows the text that was held back, and restores
/// the terminal.
pub struct Terminal {
    orders: Sender<Order>,
    /// Wakes the thread to read `orders`.
    wake: Waker,
    thread: Option<JoinHandle<()>>,
}

/// Replies to prompts, in order. Ends when the terminal is closed.
pub type Answers = UnboundedReceiver<(PromptId, PromptAnswer)>;

enum Order {
    Ask(Box<Prompt>),
    Dismiss(PromptId, String),
    Show(ShownText),
    Say(String),
    Live(Vec<String>),
    PrintOnce,
    GoOn,
    Close,
}

impl Terminal {
    /// Asks on the terminal of the process. Text for [`Terminal::show`] goes to standard error and output.
    ///
    /// # Errors
    /// Fails if no thread can be started.
    pub fn open(tty: Tty) -> io::Result<(Self, Answers)> {
        let paint = Paint::of_process(true);
        let moves = can_move(std::env::var_os("TERM").as_deref());
        let lines = Lines {
            notes: Box::new(io::stderr()),
            answer: Box::new(io::stdout()),
            drawn: Drawn::new(moves && io::stderr().is_terminal(), paint),
            moves,
            pager: pager(std::env::var_os("PAGER").as_deref()),
        };
        Self::on(tty, lines, paint, HOLD_LIMIT)
    }

    fn on(tty: Tty, lines: Lines, paint: Paint, held_for: Duration) -> io::Result<(Self, Answers)> {
        let (woken, wake) = waking()?;
        let (orders, orders_in) = channel();
        let (answers, answers_out) = unbounded_channel();
        let desk = Desk {
            tty,
            lines,
            paint,
            woken,
            orders: orders_in,
            later: VecDeque::new(),
            answers,
            open: VecDeque::new(),
            held: Vec::new(),
            line: Vec::new(),
            typed: None,
            modes: None,
            held_for,
            held_until: None,
            is_on_screen: false,
            has_said_waits: false,
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

    /// Says something on the terminal itself, as soon as no prompt is there.
    pub fn say(&self, text: String) {
        self.order(Order::Say(text));
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

    /// Prints each line once from now on, as on a terminal whose cursor cannot be moved.
    pub fn print_once(&self) {
        self.order(Order::PrintOnce);
    }

    /// Continues after Ctrl-Z. The program that had the terminal meanwhile may have left other modes, in which even a
    /// secret would be visible. The prompt is shown again, in the right modes.
    pub fn go_on(&self) {
        self.order(Order::GoOn);
    }

    fn order(&self, order: Order) {
        // A thread that has ended reported that by ending `answers`.
        if self.orders.send(order).is_ok() {
            self.wake.wake();
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

/// How a pager was used for a change.
enum PagerUse {
    /// Not at all: the prompt shows the change.
    Unused,
    /// The person left it.
    Left,
    /// It was ended, because nobody is asked any more.
    Ended,
}

/// The state of the thread.
struct Desk {
    tty: Tty,
    lines: Lines,
    paint: Paint,
    woken: Woken,
    orders: Receiver<Order>,
    /// Orders that came while a pager had the terminal.
    later: VecDeque<Order>,
    answers: UnboundedSender<(PromptId, PromptAnswer)>,
    /// Open prompts, of which the first one may be on the screen.
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
    /// Whether the first prompt is on the screen.
    is_on_screen: bool,
    /// Whether the person was told that a prompt waits in the background, since it went there.
    has_said_waits: bool,
}

impl Desk {
    fn serve(mut self) -> io::Result<()> {
        loop {
            while let Some(order) = self.next_order() {
                if matches!(order, Order::Close) {
                    return self.close();
                }
                self.take(order)?;
            }
            match self.wait()? {
                WaitEnd::Woken => self.woken.again()?,
                WaitEnd::Typed => {
                    self.look();
                    if self.is_on_screen {
                        self.read()?;
                    }
                }
                WaitEnd::TimeUp => self.present()?,
            }
        }
    }

    fn next_order(&mut self) -> Option<Order> {
        let later = self.later.pop_front();
        later.or_else(|| self.orders.try_recv().ok())
    }

    /// Waits for orders and, while a prompt is on the screen, for input.
    fn wait(&self) -> io::Result<WaitEnd> {
        let left = match self.held_until {
            Some(until) => Some(until - Instant::now()),
            None if self.open.is_empty() || self.is_on_screen => None,
            None => Some(LOOK_AGAIN),
        };
        wait(&self.woken, self.is_on_screen.then_some(&self.tty), left)
    }

    /// Looks whether the terminal is this process's own. Returns whether it is in the background.
    fn look(&mut self) -> bool {
        let is_away = is_in_background(&self.tty);
        if is_away {
            self.leave_screen();
        } else {
            self.has_said_waits = false;
        }
        self.lines.drawn.is_away(is_away);
        is_away
    }

    /// Forgets what was begun on the screen: another program had it, or has it now.
    fn leave_screen(&mut self) {
        self.modes = None;
        self.typed = None;
        self.line.clear();
        self.is_on_screen = false;
    }

    fn take(&mut self, order: Order) -> io::Result<()> {
        self.look();
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
                if self.is_on_screen && self.open.front().is_some_and(|prompt| prompt.id == id) =>
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
            Order::Say(text) => self.write(&text),
            Order::PrintOnce => {
                self.lines.erase(self.width())?;
                self.lines.drawn = Drawn::new(false, self.paint);
                self.lines.moves = false;
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
                self.leave_screen();
                self.lines.drawn.forget();
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
        if self.is_on_screen {
            self.write("\n")?;
        }
        self.open.clear();
        self.next()
    }

    /// Hides input while nothing is asked, so that it does not disturb the status lines.
    fn be_idle(&mut self) -> io::Result<()> {
        let may_draw = self.lines.drawn.can_move() && !is_in_background(&self.tty);
        if self.modes.is_none() && may_draw {
            self.modes = TypingModes::idle(&self.tty)?;
        }
        Ok(())
    }

    /// Shows the first prompt, or says that it waits.
    fn present(&mut self) -> io::Result<()> {
        self.held_until = None;
        if self.open.is_empty() {
            return Ok(());
        }
        if self.look() {
            return self.wait_in_background();
        }
        let Some(prompt) = self.open.front().cloned() else {
            return Ok(());
        };
        // The original modes are restored first, so that the new ones restore them in turn.
        self.modes = None;
        self.lines.erase(self.width())?;
        let shown = match self.in_pager(&prompt)? {
            PagerUse::Left => render_after_change(&prompt, self.paint, self.width()),
            PagerUse::Unused => render(&prompt, self.paint, self.width()),
            PagerUse::Ended => return Ok(()),
        };
        if self.look() {
            return self.wait_in_background();
        }
        if prompt.answer_type == AnswerType::Secret {
            self.modes = Some(TypingModes::unseen(&self.tty)?);
        } else if self.lines.moves {
            self.modes = Some(TypingModes::edited(&self.tty)?);
            self.typed = Some(TypedText::answering(&prompt.answer_type));
        }
        drop_typed(&self.tty)?;
        self.is_on_screen = true;
        self.write(&shown)
    }

    /// Says once that a prompt waits for the foreground.
    fn wait_in_background(&mut self) -> io::Result<()> {
        if is_hung_up(&self.tty)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if std::mem::replace(&mut self.has_said_waits, true) {
            return Ok(());
        }
        let said = wrapped(WAITS, "", "", self.width());
        self.write(&format!("\n{said}\n"))
    }

    /// Shows the change of a prompt in the user's pager if it is longer than the screen.
    fn in_pager(&mut self, prompt: &Prompt) -> io::Result<PagerUse> {
        let (Some(pager), Some(change)) = (&self.lines.pager, change(prompt, self.paint)) else {
            return Ok(PagerUse::Unused);
        };
        let (_, rows) = self.tty.size();
        let width = self.width();
        let taken = change
            .lines()
            .map(|line| line.width().div_ceil(width).max(1));
        if taken.sum::<usize>() <= rows {
            return Ok(PagerUse::Unused);
        }
        let modes = KeptModes::of(&self.tty)?;
        let running = RunningPager::start(pager, change, &self.tty);
        let used = running.and_then(|running| self.attend(running, prompt));
        if !matches!(used, Ok(PagerUse::Left)) {
            modes.restore(&self.tty);
        }
        used.or_else(|error| {
            tracing::warn!(target: "aside::terminal", %error, "a change is shown without the pager");
            Ok(PagerUse::Unused)
        })
    }

    /// Waits for the person to leave a pager, and ends it when the prompt is withdrawn or the terminal is not needed any
    /// more.
    fn attend(&mut self, mut pager: RunningPager, prompt: &Prompt) -> io::Result<PagerUse> {
        let mut was_away = false;
        loop {
            if pager.has_ended()? {
                return Ok(PagerUse::Left);
            }
            let is_away = is_in_background(&self.tty);
            if was_away && !is_away {
                // The terminal stopped it.
                pager.go_on()?;
            }
            was_away = is_away;
            if wait(&self.woken, None, Some(PAGER_STEP))? == WaitEnd::Woken {
                self.woken.again()?;
            }
            while let Ok(order) = self.orders.try_recv() {
                let is_over = match &order {
                    Order::Close => true,
                    Order::Dismiss(id, _) => *id == prompt.id,
                    _ => false,
                };
                // The pager goes on by itself.
                if !matches!(order, Order::GoOn) {
                    self.later.push_back(order);
                }
                if is_over {
                    pager.end()?;
                    return Ok(PagerUse::Ended);
                }
            }
        }
    }

    /// Removes the first prompt and shows the next one.
    fn next(&mut self) -> io::Result<()> {
        self.leave_screen();
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
        match self.tty.size() {
            (0, _) => 80,
            (columns, _) => columns,
        }
    }
}
