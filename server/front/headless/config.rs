//! `aside config`.

use super::{args, failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::config::{self, Problems};

/// Runs it.
///
/// # Errors
/// A broken configuration, or a key that cannot be set.
pub fn run(
    command: &args::Config,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    match command {
        args::Config::Show { key } => {
            let (configuration, _) = place.configuration()?;
            let void = configuration.void();
            if !void.is_empty() {
                return Err(CommandFailure::usage(Problems(void).to_string()));
            }
            let shown = configuration
                .show(key.as_deref())
                .map_err(CommandFailure::usage)?;
            for notice in &configuration.notices {
                streams.note(notice);
            }
            streams.say(&shown)
        }
        args::Config::Schema => streams.say(&format!("{:#}\n", config::schema())),
    }
}
