//! How a program is held that a call starts: what it runs inside of, what it made there, and what it does not see.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use aside_base::{secrets::folded, unfinished::UnfinishedCommand, visible::short_line};
use aside_turn::effect::CallWork;
use tokio_util::sync::CancellationToken;

use super::{
    ToolContext,
    frame::KnownFile,
    off_thread,
    process::{CommandEnd, Job},
    sandbox::{
        Confinement, RunningInside, Walls,
        git_back::take_back,
        inside_lock::{InsideLock, LockShare},
        places::{self, OpenGap, Places},
        sides::{OnSide, Side},
    },
};

/// The workspace's own file of Aside's settings.
const SETTINGS: &str = "aside.toml";
/// Said where a mark could not be kept.
const UNKEPT: &str =
    "aside.toml (the state directory cannot be written, so look at it before you run Aside again)";
/// Times that walls are built anew which were not built as meant.
const TRIES: usize = 5;
/// Those of them that others may hinder; for the rest, no program of any Aside runs in the workspace meanwhile.
const TRIES_BESIDE: usize = 2;
/// Said where another has the lock all the time.
const KEPT_WAITING: &str = "It did not run, as other programs in the sandbox on the same disk, or an MCP server that starts \
    there, kept it waiting; call it again.";

/// A program and the confinement in which it is to run.
#[derive(Clone)]
pub(super) struct HeldProgram {
    pub(super) held: Confinement,
    /// The folder of the workspace that the program runs in.
    pub(super) cwd: PathBuf,
    /// Reasons why protected places may remain open, of which whoever allowed the program knows.
    pub(super) gaps: BTreeSet<OpenGap>,
    /// Protected places that commands made, of which whoever allowed the program knows.
    pub(super) made: BTreeSet<String>,
}

/// Confinement of a program that is about to run, or runs.
pub(super) struct Hold {
    program: HeldProgram,
    walls: Option<Walls>,
    /// Protected places before the run.
    before: Option<Arc<Places>>,
    /// Counts the program among those that run inside.
    running: Option<Arc<RunningInside>>,
    /// Keeps programs of the other side of the walls waiting, until it is known what this one made.
    side: Option<OnSide>,
    /// The marks of a program that could make settings of Aside's, of each folder in which it may write.
    unfinished: Vec<UnfinishedCommand>,
    /// Times that the walls were built anew.
    tries: usize,
}

/// Reasons why protected places may remain open to a program that is held in this way.
pub(super) async fn gaps(
    work: &CallWork,
    context: &Arc<ToolContext>,
    held: &Confinement,
) -> Result<BTreeSet<OpenGap>, String> {
    match held {
        Confinement::Inside(_) => context.sandbox.inside.gaps(search(work, context)).await,
        Confinement::Outside(_) | Confinement::Free => Ok(BTreeSet::new()),
    }
}

/// Such reasons as one for a prompt.
pub(super) fn gap_reason(context: &ToolContext, gaps: &BTreeSet<OpenGap>) -> Option<String> {
    let root = context.files.root();
    let clauses: Vec<String> = gaps.iter().take(GAPS).map(|gap| gap.clause(root)).collect();
    (!gaps.is_empty()).then(|| {
        let clauses = clauses.join(", ");
        format!("the sandbox may leave files open that other programs execute: {clauses}")
    })
}

/// Maximum number of such reasons that a prompt names.
const GAPS: usize = 5;

async fn search(work: &CallWork, context: &Arc<ToolContext>) -> Result<Places, String> {
    let known = context.sandbox.inside.known();
    off_thread(work, context, move |_, context| {
        let rules = &context.sandbox.rules;
        let listed = &context.sandbox.inside.listed;
        Ok(rules.places_before(context.files.root(), &known, listed))
    })
    .await
}

impl Hold {
    /// Builds the confinement of a program.
    pub(super) async fn new(
        program: HeldProgram,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<Self, String> {
        let mut hold = Self {
            program,
            walls: None,
            before: None,
            running: None,
            side: None,
            unfinished: Vec::new(),
            tries: 0,
        };
        hold.build(work, context, cancelled).await?;
        Ok(hold)
    }

    async fn build(
        &mut self,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<(), String> {
        let side = match &self.program.held {
            Confinement::Inside(_) => Side::Inside,
            Confinement::Outside(_) => Side::Outside,
            Confinement::Free => return Ok(()),
        };
        if self.side.is_none() {
            let entered = context.sandbox.sides.enter(side, cancelled).await;
            self.side = Some(entered.ok_or("It was cancelled before it ran.")?);
        }
        let Confinement::Inside(means) = &self.program.held else {
            return self.knows_all(context);
        };
        let lock = self.lock(work, context, cancelled).await?;
        let inside = &context.sandbox.inside;
        let (running, places) = inside.enter(lock, search(work, context)).await?;
        if !places.gaps.is_subset(&self.program.gaps) {
            let why = gap_reason(context, &places.gaps).unwrap_or_default();
            return Err(format!(
                "It did not run, as {why}; call it again to be asked."
            ));
        }
        let (means, cwd, found) = (means.clone(), self.program.cwd.clone(), places.clone());
        let walls = off_thread(work, context, move |_, context| {
            let (rules, root) = (&context.sandbox.rules, context.files.root());
            let walls = rules.walls(&means, root, &cwd, &found);
            walls.map_err(|missing| {
                format!(
                    "The sandbox cannot be built: {}; {}.",
                    missing.why, missing.mend
                )
            })
        });
        self.walls = Some(walls.await?);
        if self.unfinished.is_empty() {
            let found = places.clone();
            let begun = off_thread(work, context, move |_, context| {
                Ok(unfinished(context, &found))
            });
            self.unfinished = begun.await?;
        }
        self.before = Some(places);
        self.running = Some(Arc::new(running));
        Ok(())
    }

    /// Whether whoever allowed this program knows all that programs inside made, which may be what it executes.
    fn knows_all(&self, context: &ToolContext) -> Result<(), String> {
        let made = context.sandbox.made();
        let unknown: Vec<&String> = made.difference(&self.program.made).collect();
        if unknown.is_empty() {
            return Ok(());
        }
        Err(format!(
            "It did not run outside the sandbox, as a command beside it made or replaced {}, from which other programs \
             take code; call it again.",
            places::listed(unknown)
        ))
    }

    /// The lock under which walls are built; none where there is no such file.
    async fn lock(
        &self,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<Option<InsideLock>, String> {
        let opened = off_thread(work, context, move |_, context| {
            let state = context.sandbox.rules.own.first();
            let opened = state.map(|state| InsideLock::open(state, context.files.root()));
            Ok(opened.and_then(Result::ok))
        });
        let Some(file) = opened.await? else {
            return Ok(None);
        };
        let share = match self.tries > TRIES_BESIDE {
            true => LockShare::Nobody,
            false => LockShare::Others,
        };
        let taking = InsideLock::take(file, share, context.limits.time);
        let taken = cancelled.run_until_cancelled(taking).await.flatten();
        taken.map(Some).ok_or_else(|| KEPT_WAITING.to_owned())
    }

    /// The same job in its confinement, for one run.
    pub(super) fn job(&mut self, job: &Job) -> Job {
        Job {
            walls: self.walls.clone(),
            inside: self.running.take(),
            ..job.clone()
        }
    }

    /// After the program ended in this way: builds the walls anew if they were not as meant, as soon as nothing else runs
    /// inside. Returns whether the program is to be started again.
    pub(super) async fn anew(
        &mut self,
        how: &CommandEnd,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<bool, String> {
        if !matches!(how, CommandEnd::Unbuilt(_)) || self.tries == TRIES {
            return Ok(false);
        }
        self.tries += 1;
        self.walls.iter().for_each(Walls::clear);
        context.sandbox.inside.quiet().await;
        self.build(work, context, cancelled).await?;
        Ok(true)
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
        let (unfinished, walls) = (self.unfinished, self.walls);
        off_thread(work, context, move |_, context| {
            walls.iter().for_each(Walls::clear);
            let looked = made(context, &before);
            if looked.is_known {
                unfinished.into_iter().for_each(UnfinishedCommand::end);
            }
            Ok(looked.names)
        })
        .await
    }
}

/// Marks a program in each folder in which it may write: nothing keeps it from making settings of Aside's where there are
/// none, and Aside may be gone when it ends.
fn unfinished(context: &ToolContext, places: &Places) -> Vec<UnfinishedCommand> {
    let rules = &context.sandbox.rules;
    let Some(state) = rules.own.first() else {
        return Vec::new();
    };
    let is_settings = |path: &&PathBuf| of_settings(path).is_some();
    let known: Vec<&PathBuf> = places.paths().filter(is_settings).collect();
    let folders = rules.writable(context.files.root()).into_iter();
    let begin =
        |folder: PathBuf| UnfinishedCommand::begin(state, &folder, known.iter().copied()).ok();
    folders.filter_map(begin).collect()
}

/// The places that a program made or replaced.
struct MadePlaces {
    names: Vec<String>,
    /// Whether all that may be settings of Aside's was seen, and is known to be a command's. If not, the program's mark
    /// stays, so that such settings count for nothing.
    is_known: bool,
}

fn made(context: &ToolContext, before: &Places) -> MadePlaces {
    let root = context.files.root();
    let rules = &context.sandbox.rules;
    let after = rules.places_after(root, before, &context.sandbox.inside.listed);
    let made = places::made(before, &after);
    let ways = places::ways_made(before, &after);
    let taken_back = take_back(&made, &ways);
    let all: BTreeSet<&PathBuf> = made.iter().chain(&ways).collect();
    let names = all.into_iter().map(|path| {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy();
        match taken_back.get(path) {
            Some(done) => format!("{name} ({done})"),
            None => name.into_owned(),
        }
    });
    // What cannot be searched any more may hide the rest.
    let hidden = after.gaps.difference(&before.gaps);
    let hidden: Vec<String> = hidden.filter_map(|gap| gap.hiding(root)).collect();
    let is_seen = hidden.is_empty();
    let links = places::package_links_made(before, &after).map(|link| {
        let name = link.strip_prefix(root).unwrap_or(link).to_string_lossy();
        format!("{name} (a link to a folder of a package manager, which is not searched)")
    });
    let mut names: Vec<String> = names.chain(hidden).chain(links).collect();
    context.sandbox.note_made(&names);
    let folders = made.iter().filter_map(|path| of_settings(path));
    let kept: Vec<bool> = folders.map(|folder| (context.distrust)(folder)).collect();
    let is_kept = kept.into_iter().all(|is_kept| is_kept);
    if !is_kept {
        names.push(UNKEPT.to_owned());
    }
    MadePlaces {
        names,
        is_known: is_kept && is_seen,
    }
}

/// The folder of which this is the file of Aside's settings.
fn of_settings(path: &Path) -> Option<&Path> {
    let name = path.file_name()?;
    path.parent().filter(|_| folded(name) == SETTINGS)
}

/// A file that a tool is about to change, with the reason to ask where not its name tells that other programs execute it,
/// but settings of Git or links that lead there.
pub(super) fn asked(mut file: KnownFile, context: &ToolContext) -> KnownFile {
    file.must_ask = file.must_ask.or_else(|| led_reason(context, &file.path));
    file
}

fn led_reason(context: &ToolContext, path: &str) -> Option<String> {
    let (root, rules) = (context.files.root(), &context.sandbox.rules);
    let inside = &context.sandbox.inside;
    let places = rules.places(root, &inside.known(), &inside.listed);
    places.lead_to(&root.join(path)).then(|| {
        let path = short_line(path, 80);
        format!("settings of Git or links lead to {path}, so that other programs execute it")
    })
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
