//! The choices of one sequence, on a tape. A tape can be replayed, and a shorter or smaller tape is a simpler
//! sequence: past its end every choice is the first one, which is always the tamest.

/// Choices, drawn or replayed.
#[derive(Debug)]
pub(crate) struct Tape {
    values: Vec<u16>,
    at: usize,
    draws: Option<fastrand::Rng>,
}

impl Tape {
    /// Draws choices at random.
    pub(crate) fn of_seed(seed: u64) -> Self {
        Self {
            values: Vec::with_capacity(512),
            at: 0,
            draws: Some(fastrand::Rng::with_seed(seed)),
        }
    }

    /// Plays choices that were drawn before.
    pub(crate) fn replay(values: &[u16]) -> Self {
        Self {
            values: values.to_vec(),
            at: 0,
            draws: None,
        }
    }

    pub(crate) fn into_values(self) -> Vec<u16> {
        self.values
    }

    /// One of `n`, the first of which is the tamest.
    pub(crate) fn pick(&mut self, n: usize) -> usize {
        let value = match &mut self.draws {
            Some(draws) => {
                let value = draws.u16(..);
                self.values.push(value);
                value
            }
            None => self.values.get(self.at).copied().unwrap_or(0),
        };
        self.at += 1;
        usize::from(value) % n
    }

    /// True once in `n` times, and never past the end.
    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.pick(n) == n - 1
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.pick(all.len())]
    }

    /// A place in `weights`, as often as its weight says.
    pub(crate) fn weighted(&mut self, weights: &[usize]) -> usize {
        let mut left = self.pick(weights.iter().sum());
        for (at, weight) in weights.iter().enumerate() {
            if left < *weight {
                return at;
            }
            left -= weight;
        }
        0
    }
}

/// The simplest tape that is found to fail still: cut short, with pieces taken out, with choices made tamer.
pub(crate) fn shrink(mut tape: Vec<u16>, fails: impl Fn(&[u16]) -> bool) -> Vec<u16> {
    loop {
        let before = tape.clone();
        let mut size = tape.len().div_ceil(2).max(1);
        loop {
            tape = without_pieces(tape, size, &fails);
            if size == 1 {
                break;
            }
            // What belongs together is a few choices, of any number.
            size = if size > 24 { size / 2 } else { size - 1 };
        }
        tape = tamed(tape, &fails);
        if tape == before {
            return tape;
        }
    }
}

fn without_pieces(mut tape: Vec<u16>, size: usize, fails: &impl Fn(&[u16]) -> bool) -> Vec<u16> {
    let mut end = tape.len();
    while end > 0 {
        let start = end.saturating_sub(size);
        let mut shorter = tape.clone();
        shorter.drain(start..end);
        if fails(&shorter) {
            tape = shorter;
        }
        end = start.min(tape.len());
    }
    tape
}

/// A tamer choice may need fewer choices after it, so that what follows must move up to stay what it is.
fn tamed(mut tape: Vec<u16>, fails: &impl Fn(&[u16]) -> bool) -> Vec<u16> {
    let mut at = 0;
    while at < tape.len() {
        for moved in [0, 1, 2, 3, 4, 5, 6, 8, 10, 12] {
            for tame in [0, tape[at] / 2, tape[at].saturating_sub(1)] {
                let end = at + 1 + moved;
                if tape[at] == 0 || end > tape.len() {
                    break;
                }
                let mut tamer = tape.clone();
                tamer[at] = tame;
                tamer.drain(at + 1..end);
                if fails(&tamer) {
                    tape = tamer;
                }
            }
        }
        at += 1;
    }
    tape
}
