//! How a program is held that a call starts: what it runs inside of, what it made there, and what it does not see.

use std::{path::PathBuf, sync::Arc};

use aside_base::visible::short_line;
use aside_turn::effect::CallWork;

use super::{
    ToolContext, off_thread,
    sandbox::{
        Confinement, Walls,
        places::{self, Places},
    },
};

/// Confinement of a program.
pub(super) struct Hold {
    pub(super) walls: Option<Walls>,
    /// Protected places before the run.
    before: Option<Places>,
}

impl Hold {
    /// Makes it for a program that runs in this folder of the workspace.
    pub(super) async fn new(
        work: &CallWork,
        context: &Arc<ToolContext>,
        held: Confinement,
        cwd: PathBuf,
    ) -> Result<Self, String> {
        let Confinement::Inside(means) = held else {
            return Ok(Self {
                walls: None,
                before: None,
            });
        };
        let walls = off_thread(work, context, move |_, context| {
            let (rules, root) = (&context.sandbox.rules, context.files.root());
            let places = rules.places_before(root);
            Ok((rules.walls(&means, root, &cwd, &places), places))
        });
        let (walls, places) = walls.await?;
        Ok(Self {
            walls: Some(walls),
            before: Some(places),
        })
    }

    /// The places from which other programs take code that the program made or replaced, from the root.
    pub(super) async fn made(
        self,
        work: &CallWork,
        context: &Arc<ToolContext>,
    ) -> Result<Vec<String>, String> {
        let Some(before) = self.before else {
            return Ok(Vec::new());
        };
        off_thread(work, context, move |_, context| Ok(made(context, &before))).await
    }
}

fn made(context: &ToolContext, before: &Places) -> Vec<String> {
    let root = context.files.root();
    let rules = &context.sandbox.rules;
    let made = places::made(before, &rules.places_after(root, before));
    let taken_back = rules.take_back(&made);
    let names = made.iter().map(|path| {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        match taken_back.contains(path) {
            true => format!("{name} (which was taken away again)"),
            false => name.into_owned(),
        }
    });
    let names: Vec<String> = names.collect();
    context.sandbox.note_made(&names);
    if names.iter().any(|name| is_settings(name)) {
        (context.distrust)();
    }
    names
}

/// Whether this is the workspace's own file of Aside's settings.
fn is_settings(name: &str) -> bool {
    name.eq_ignore_ascii_case("aside.toml")
}

/// What a program made that could run something later, as a result begins with it; empty where there is nothing.
pub(super) fn warning(made: &[String]) -> String {
    if made.is_empty() {
        return String::new();
    }
    format!(
        "Other programs take code from what this made or replaced, so tell the user: {}\n",
        places::listed(made)
    )
}

/// The same for people, behind how the program ended.
pub(super) fn remark(made: &[String]) -> String {
    if made.is_empty() {
        return String::new();
    }
    let names = places::listed(made);
    format!(" It made or replaced {names}, from which other programs take code.")
}

/// Unsaved changes that a program does not see, for people and for the model.
pub(super) fn not_seen(unsaved: &[String]) -> Option<String> {
    let names = short_line(&unsaved.join(", "), 1000);
    (!unsaved.is_empty()).then(|| format!("Unsaved in the editor: {names}"))
}
