//! What a crash leaves: the program is killed at every place, and goes on.
//!
//! Places are many, and each takes a run of the program or several. Each run of the tests takes others, as many as there
//! is time for, and all of them where somebody wants to know: `ASIDE_FAULTS=all`.

mod beside;
mod between;
mod commands;
mod damage;
mod faults;
mod inside;
mod moments;
mod refused;
mod story;
pub(crate) mod strace;
mod teller;
mod whole;

/// One in so many places, others each time; each of them where somebody wants to know.
struct Sample {
    first: usize,
    step: usize,
}

impl Sample {
    fn one_in(step: usize) -> Self {
        let step = if wants_all() { 1 } else { step };
        Self {
            first: fastrand::usize(..step),
            step,
        }
    }

    /// How many of these places are tried.
    fn count(&self, places: usize) -> usize {
        places.saturating_sub(self.first).div_ceil(self.step)
    }

    /// The place that is tried as this one, counted from 0.
    fn place(&self, number: usize) -> usize {
        self.first + self.step * number
    }
}

fn wants_all() -> bool {
    std::env::var_os("ASIDE_FAULTS").is_some()
}
