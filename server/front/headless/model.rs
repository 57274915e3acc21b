//! `aside model`.

use super::{failure::Failure, streams::Streams};
use crate::provider::{
    Provider as _,
    rehearsal::{self, Rehearsal},
};

/// Lists the models of the providers that can be used: a line each, with its context window where it is known.
///
/// # Errors
/// Where it cannot be written.
pub fn list(streams: &mut Streams<'_>) -> Result<(), Failure> {
    let mut list = String::new();
    for script in rehearsal::built_in() {
        let id = format!("rehearsal/{script}");
        let provider = Rehearsal::open(script).map_err(Failure::internal)?;
        let window = provider.model().context_window;
        let window = window.map_or_else(String::new, |tokens| {
            format!("  context window of {tokens} tokens")
        });
        list += format!("{id:<16}{window}").trim_end();
        list += "\n";
    }
    streams.say(&list)?;
    streams.note("rehearsal/PATH plays a script of your own. This version has no other provider.");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::streams::tests::said, *};

    #[test]
    fn the_built_in_scripts_are_listed() {
        assert_eq!(
            said(list),
            "rehearsal/demo    context window of 200000 tokens\n\
             rehearsal/hello\n\
             ! rehearsal/PATH plays a script of your own. This version has no other provider.\n"
        );
    }
}
