//! What models were told decides nothing in a log either: with every sentence in another's place, each prefix is read
//! as the same conversation and goes on in the same way.

use std::{collections::BTreeSet, fmt::Debug, fs, path::Path};

use aside::front::wire::changes::KeptTexts;
use aside_session::{
    blobs::Blobs,
    codec, lines, meta,
    record::{Entry, Record},
    replay::{self, Turn, conversation::ConversationFold},
    undo::{self, UndoRequest},
};
use aside_turn::{
    Event,
    history::TurnHistory,
    model_text::ModelText,
    record::{Backend, CallEnd, InquiryResponse, Status, Word},
    transcript::Item,
};

use super::{
    lines::Log,
    resumed::{People, resumed},
    untold,
};

/// How far each sentence moves among all that stand in the logs, and among those that the turn has: one way with an
/// even number of lines, the other way with an odd one.
const ROTATIONS: [usize; 2] = [1, 11];

/// A part of what the program makes of a prefix, by its name.
type View = (&'static str, String);

#[test]
fn logs_are_read_and_gone_on_with_the_same_whatever_the_sentences_say() {
    let logs = super::all();
    let sentences = Sentences::of(&logs);
    assert!(
        sentences.0.len() > 25,
        "only {} sentences",
        sentences.0.len()
    );
    let mut swapped = 0;
    for log in &logs {
        let told =
            ROTATIONS.map(|by| (by, rewritten(log, |it| *it = sentences.instead_of(it, by))));
        for count in 1..=log.lines.len() {
            let (by, told) = &told[count % told.len()];
            swapped += usize::from(log.lines[count - 1] != told[count - 1]);
            let one = views(log, &log.lines[..count], ModelText::default());
            let other = views(log, &told[..count], ModelText::default().rotated(*by));
            check(
                &one,
                &other,
                &format!("{}, {count} lines, by {by}", log.name()),
            );
        }
    }
    assert!(swapped > 35, "only {swapped} lines were changed");
}

#[test]
fn lines_with_other_sentences_hold_what_was_read_out_of_the_first() {
    let logs = super::all();
    let sentences = Sentences::of(&logs);
    for log in &logs {
        let told = rewritten(log, |text| *text = sentences.instead_of(text, 1));
        for (old, new) in log.lines.iter().zip(&told) {
            let (Some(old), Some(new)) = (decoded(old), decoded(new)) else {
                continue;
            };
            let entries = [old, new].map(|record| match record.entry {
                Entry::Turn(event) => Entry::Turn(untold::event(&event)),
                other => other,
            });
            assert_eq!(entries[0], entries[1], "{}", log.name());
        }
    }
}

#[track_caller]
fn check(english: &[View], told: &[View], what: &str) {
    for ((name, one), (_, other)) in english.iter().zip(told) {
        assert_eq!(one, other, "{what}: {name}");
    }
}

/// The texts for models in all logs, each once.
struct Sentences(Vec<String>);

impl Sentences {
    fn of(logs: &[Log]) -> Self {
        let mut found = BTreeSet::new();
        for log in logs {
            rewritten(log, |text| {
                found.insert(text.clone());
            });
        }
        Self(found.into_iter().collect())
    }

    /// The sentence that stands `by` places behind this one.
    fn instead_of(&self, text: &str, by: usize) -> String {
        let at = self.0.iter().position(|known| known == text);
        let at = at.expect("all sentences were collected");
        self.0[(at + by) % self.0.len()].clone()
    }
}

/// The lines of a log with other texts for models. A line that cannot be read stays as it is.
fn rewritten(log: &Log, mut change: impl FnMut(&mut String)) -> Vec<Vec<u8>> {
    let lines = log.lines.iter().map(|line| {
        let Some(mut record) = decoded(line) else {
            return line.clone();
        };
        if let Entry::Turn(event) = &mut record.entry {
            texts(event).into_iter().for_each(&mut change);
        }
        let turn = record.turn.as_deref();
        codec::encode(record.seq, record.time, turn, &record.entry).expect("it can be written")
    });
    lines.collect()
}

/// The texts for models in an event; a result that a tool returned is its own.
fn texts(event: &mut Event) -> Vec<&mut String> {
    match event {
        Event::Directive { text, .. } => vec![text],
        Event::ToolResult { end, content, .. } if *end != CallEnd::Success => vec![content],
        Event::InquiryResponse {
            response:
                InquiryResponse::Cancelled {
                    backend: Some(Word::Known(Backend::Inquiry)),
                    why: Some(why),
                    ..
                },
            ..
        } => vec![why],
        _ => Vec::new(),
    }
}

fn decoded(line: &[u8]) -> Option<Record> {
    codec::decode(line.strip_suffix(b"\n")?).ok()
}

/// All that is decided of a conversation with these lines, without what models are told.
fn views(log: &Log, prefix: &[Vec<u8>], model_text: ModelText) -> Vec<View> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join(lines::EVENTS), prefix.concat()).expect("a log");
    let read = lines::read_all(folder.path()).expect("it is there");
    let last = lines::read_last_turn(folder.path()).expect("it is there");
    let turns = replay::turns(&read.records);
    let mut views = vec![
        ("list", listed(folder.path())),
        ("faults", text(&read.faults)),
        ("turns", text(&turns.iter().map(turn).collect::<Vec<_>>())),
        (
            "last turn",
            text(
                &replay::turns(&last.records)
                    .iter()
                    .map(turn)
                    .collect::<Vec<_>>(),
            ),
        ),
        ("conversation", folded(&read.records)),
        (
            "undo",
            text(
                &turns
                    .iter()
                    .map(|turn| undo(log, &read.records, turn))
                    .collect::<Vec<_>>(),
            ),
        ),
        (
            "updates",
            text(
                &turns
                    .iter()
                    .map(|turn| updates(log, turn))
                    .collect::<Vec<_>>(),
            ),
        ),
    ];
    if let Some(turn) = turns.last().filter(|turn| turn.is_interrupted()) {
        let closing = replay::closing(turn);
        let closing: Vec<Event> = closing.iter().map(untold::event).collect();
        views.push(("closing", text(&closing)));
        for people in People::ALL {
            let effects = resumed(turn, people, model_text.clone());
            let effects: Vec<_> = effects.iter().map(untold::effect).collect();
            views.push(("resume", format!("{people:?}: {effects:?}")));
        }
    }
    views
}

fn text(value: &impl Debug) -> String {
    format!("{value:?}")
}

/// What the list shows.
fn listed(folder: &Path) -> String {
    let meta = meta::read(folder).expect("it is there");
    text(&(meta.title, meta.turns, meta.turn, meta.standing))
}

/// A turn, and what became of it.
fn turn(turn: &Turn) -> impl Debug {
    let history = turn.history();
    let calls = history.calls().map(|call| {
        let (key, first, state) = (call.key(), call.first(), call.state().clone());
        let answers = call.details().map(|details| details.answers.clone());
        (
            key,
            first,
            call.runs(),
            state,
            answers,
            history.waits_on(call).cloned(),
        )
    });
    let questions: BTreeSet<String> = history
        .questions()
        .map(|asked| text(asked.question()))
        .collect();
    let events: Vec<Event> = turn.events.iter().map(untold::event).collect();
    let ends = (
        turn.standing.clone(),
        turn.edits.clone(),
        turn.undone.clone(),
    );
    (
        calls.collect::<Vec<_>>(),
        questions,
        events,
        ends,
        decided(&history),
    )
}

/// What a history says of the turn as a whole.
fn decided(history: &TurnHistory) -> impl Debug + use<> {
    let force = history.force();
    let told = (force.is_retrying(), history.cuts(), history.schema_repair());
    let refusals = history.memory().refusals().to_vec();
    (
        history.progress().clone(),
        history.step(),
        history.is_steered(),
        told,
        refusals,
    )
}

/// What the next turn would begin with, but for texts of results and directives.
fn folded(records: &[Record]) -> String {
    let folded = records.iter().cloned().collect::<ConversationFold>().end();
    let fork = folded.transcript.fork();
    let items = fork.items().into_iter().cloned().map(|mut item| {
        match &mut item {
            Item::Directive(text) => text.clear(),
            Item::ToolResult { content, .. } => content.clear(),
            _ => {}
        }
        item
    });
    let items: Vec<Item> = items.collect();
    let reported: BTreeSet<_> = folded.reported.into_iter().collect();
    let last = folded.last.as_ref().map(turn);
    text(&(items, folded.frozen, folded.learned, reported, last))
}

/// How the files of a turn would be put back, where they are as they were before the first.
fn undo(log: &Log, records: &[Record], turn: &Turn) -> impl Debug + use<> {
    let root = Some(log.folder.join("work")).filter(|it| it.exists());
    let wanted = UndoRequest {
        turn: &turn.id,
        root: root.as_ref().unwrap_or(&log.folder),
        blobs: &Blobs::of(&log.folder),
        only: None,
    };
    let plan = undo::plan(records, &wanted, |tool| tool == "run_command", |_| None);
    plan.map_err(|error| error.to_string())
}

/// What a client is told of a turn, but for what a tool said that failed, which may be a sentence for the model.
fn updates(log: &Log, turn: &Turn) -> String {
    let kept = KeptTexts {
        root: log.folder.clone(),
        blobs: Blobs::of(&log.folder),
        whole: false,
    };
    let mut updates = aside::front::wire::replay::updates(turn, &kept, |_| false);
    for update in &mut updates {
        if let aside::front::wire::Update::ToolResult {
            status: Status::Error,
            summary,
            content,
            ..
        } = update
        {
            summary.clear();
            *content = None;
        }
    }
    text(&updates)
}
