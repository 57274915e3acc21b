use std::collections::BTreeSet;

use aside_turn::{
    record::{CallKey, Outcome, PromptId, PromptSubject},
    response::Usage,
};

use super::{
    super::{
        conversation::ConversationActivity,
        log::OpenError,
        record::{Edit, Record},
    },
    *,
};

struct StoreFixture {
    state: tempfile::TempDir,
    store: Store,
}

impl StoreFixture {
    fn new() -> Self {
        let state = tempfile::tempdir().unwrap();
        let store = Store::open(state.path(), Path::new("/some/work space")).unwrap();
        Self { state, store }
    }

    /// A conversation with these events: each its turn, its second, and what happened.
    fn conversation(&self, events: Vec<(&str, u64, Entry)>) -> Conversation {
        let conversation = self.store.create(None, at(1)).unwrap();
        self.append(&conversation, events);
        conversation
    }

    fn append(&self, conversation: &Conversation, events: Vec<(&str, u64, Entry)>) {
        let mut log = conversation.log(at(1)).unwrap();
        for (turn, second, entry) in events {
            log.append(at(second), Some(turn), &entry).unwrap();
        }
    }

    /// What the list shows, a line each.
    fn listed(&self) -> Vec<String> {
        let line = |one: ConversationSummary| {
            let ConversationSummary {
                title,
                created,
                updated,
                turns,
                status,
                prompts,
                ..
            } = one;
            let (created, updated) = (created.as_secs(), updated.as_secs());
            format!("{title}: {created} to {updated}, {turns} turns, {status:?}, {prompts} open")
        };
        self.store.list().unwrap().into_iter().map(line).collect()
    }
}

fn at(second: u64) -> Duration {
    Duration::from_secs(second)
}

fn start() -> Entry {
    Event::TurnStart.into()
}

fn user(text: &str) -> Entry {
    Event::UserMessage {
        text: text.into(),
        attachments: vec![],
    }
    .into()
}

fn prompt() -> Entry {
    let subject = PromptSubject::DeliverResult;
    Event::PromptOpened {
        prompt: PromptId("p".into()),
        call: CallKey(0),
        subject,
    }
    .into()
}

fn end(outcome: Outcome) -> Entry {
    Event::TurnEnd {
        outcome,
        answer: None,
        structured: None,
        error: None,
        usage: Usage::default(),
        refusals: vec![],
    }
    .into()
}

fn one_turn(turn: &str, second: u64) -> Vec<(&str, u64, Entry)> {
    vec![
        (turn, second, start()),
        (turn, second + 1, user(&format!("do {turn}\nand more"))),
        (turn, second + 2, end(Outcome::Completed)),
    ]
}

#[test]
fn a_workspace_has_a_readable_and_unique_name() {
    let names =
        ["/some/work space", "/other/work space", "/"].map(|root| workspace_name(Path::new(root)));
    assert!(names[0].starts_with("work-space-"), "{}", names[0]);
    assert_eq!(BTreeSet::from(names).len(), 3);
}

#[cfg(unix)]
#[test]
fn state_is_where_the_user_keeps_it() {
    for (xdg, home, expected) in [
        (Some("/x"), Some("/h"), Some("/x/aside")),
        (None, Some("/h"), Some("/h/.local/state/aside")),
        (Some("relative"), Some("/h"), Some("/h/.local/state/aside")),
        (Some(""), None, None),
    ] {
        let found = state_dir(xdg.map(Into::into), home.map(Into::into));
        assert_eq!(found, expected.map(PathBuf::from));
    }
}

#[cfg(unix)]
#[test]
fn a_state_directory_that_cannot_be_used_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let error = Store::open(&file, Path::new("/w")).unwrap_err().to_string();
    assert_eq!(
        error,
        format!(
            "cannot use the state directory {}: Not a directory (os error 20); make it writable, or set XDG_STATE_HOME to one that is",
            file.display()
        )
    );
}

#[test]
fn a_conversation_is_found_by_the_beginning_of_its_id() {
    let it = StoreFixture::new();
    let (one, other) = (
        it.store.create(None, at(1)).unwrap(),
        it.store.create(None, at(1)).unwrap(),
    );
    assert_eq!(it.store.find(one.id()).unwrap(), one);
    assert!(one.id().len() == 10 && one.id().starts_with('c'));
    let same = one
        .id()
        .bytes()
        .zip(other.id().bytes())
        .take_while(|(a, b)| a == b)
        .count();
    assert_eq!(it.store.find(&one.id()[..=same]).unwrap(), one);
    let error = it.store.find("c").unwrap_err().to_string();
    assert!(
        error.starts_with("c could be c") && error.contains(other.id()),
        "{error}"
    );
    let inside = it.store.folder.join(one.id()).join("inside");
    fs::create_dir(&inside).unwrap();
    fs::write(inside.join(EVENTS), "").unwrap();
    let path = format!("{}/inside", one.id());
    for unknown in ["", "x", "../", ".", &path] {
        assert!(
            matches!(it.store.find(unknown), Err(StoreError::Unknown(_))),
            "{unknown}"
        );
    }
}

#[test]
fn the_list_says_what_each_conversation_is_doing() {
    let it = StoreFixture::new();
    let one = it.conversation(one_turn("t1", 10));
    it.append(&one, one_turn("t2", 20));
    it.conversation(vec![("t1", 30, start()), ("t1", 31, user("stopped"))]);
    let parked = vec![
        ("t1", 40, start()),
        ("t1", 41, user("parked")),
        ("t1", 42, prompt()),
        ("t1", 43, end(Outcome::Interrupted)),
    ];
    it.conversation(parked);
    assert_eq!(
        it.listed(),
        [
            "parked: 40 to 43, 1 turns, Interrupted, 1 open",
            "stopped: 30 to 31, 1 turns, Interrupted, 0 open",
            "do t1: 10 to 22, 2 turns, Idle, 0 open",
        ]
    );
    let latest = it.store.latest(at(50)).unwrap().unwrap();
    assert_eq!(latest.listed().unwrap().title, "parked");
}

#[test]
fn after_the_clock_was_set_back_what_began_last_is_the_latest() {
    let it = StoreFixture::new();
    let ahead = it.conversation(one_turn("t1", 3600));
    it.store.begins(&ahead);
    let latest = |now| it.store.latest(at(now)).unwrap().unwrap().id().to_owned();
    let behind = it.conversation(one_turn("t2", 10));
    it.store.begins(&behind);
    assert_eq!(latest(20), behind.id());
    assert_eq!(latest(4000), ahead.id());
    // What began last is no longer there.
    it.store.delete(&behind, at(30)).unwrap();
    assert_eq!(latest(30), ahead.id());
}

#[test]
fn an_open_conversation_runs_waits_or_is_idle() {
    let it = StoreFixture::new();
    let conversation = it.conversation(vec![]);
    let mut log = conversation.log(at(1)).unwrap();
    let mut check = |entry: Entry, status: ConversationActivity| {
        log.append(at(2), Some("t1"), &entry).unwrap();
        assert_eq!(conversation.listed().unwrap().status, status);
    };
    // A turn has begun with its message.
    check(start(), ConversationActivity::Idle);
    check(user("go"), ConversationActivity::Running);
    check(prompt(), ConversationActivity::Waiting);
    check(end(Outcome::Interrupted), ConversationActivity::Interrupted);
    check(prompt(), ConversationActivity::Waiting);
    check(end(Outcome::Completed), ConversationActivity::Idle);
    check(start(), ConversationActivity::Idle);
    check(user("go"), ConversationActivity::Running);
    drop(log);
    assert_eq!(
        conversation.listed().unwrap().status,
        ConversationActivity::Interrupted
    );
}

#[test]
fn the_cache_of_the_list_is_rebuilt_when_it_is_missing_older_or_broken() {
    let it = StoreFixture::new();
    let conversation = it.conversation(one_turn("t1", 10));
    let meta = conversation.folder().join("meta.json");
    let expected = ["do t1: 10 to 12, 1 turns, Idle, 0 open"];
    assert_eq!(it.listed(), expected);
    let cache = fs::read_to_string(&meta).unwrap();
    for broken in [
        "",
        "{}",
        "null",
        &cache
            .replacen("\"v\":2", "\"v\":99", 1)
            .replace("do t1", "other"),
        // One that goes further than the log, or not to the end of a line, is of another log.
        &cache
            .replacen("\"length\":", "\"length\":9", 1)
            .replace("do t1", "other"),
        &cache
            .replacen("\"length\":", "\"length\":1,\"l\":", 1)
            .replace("do t1", "other"),
    ] {
        fs::write(&meta, broken).unwrap();
        assert_eq!(it.listed(), expected, "{broken}");
        assert_eq!(fs::read_to_string(&meta).unwrap(), cache);
    }
    fs::remove_file(&meta).unwrap();
    assert_eq!(it.listed(), expected);
    it.append(&conversation, one_turn("t2", 20));
    assert_eq!(it.listed(), ["do t1: 10 to 22, 2 turns, Idle, 0 open"]);
}

#[test]
fn a_title_given_stays() {
    let it = StoreFixture::new();
    let titled = it.store.create(Some("  my\n plan "), at(5)).unwrap();
    it.append(&titled, one_turn("t1", 10));
    assert_eq!(it.listed(), ["my plan: 5 to 12, 1 turns, Idle, 0 open"]);
    it.store.rename(&titled, "another", at(20)).unwrap();
    assert_eq!(it.listed(), ["another: 5 to 20, 1 turns, Idle, 0 open"]);
    let _log = titled.log(at(21)).unwrap();
    let error = it.store.rename(&titled, "x", at(22)).unwrap_err();
    assert!(
        matches!(error, StoreError::Open(OpenError::Held { .. })),
        "{error}"
    );
}

#[test]
fn an_empty_conversation_is_listed() {
    let it = StoreFixture::new();
    it.store.create(None, at(1)).unwrap();
    let listed = it.store.list().unwrap();
    assert_eq!(
        (listed[0].title.as_str(), listed[0].turns, listed[0].status),
        ("", 0, ConversationActivity::Idle)
    );
    assert!(listed[0].created > at(1_600_000_000));
}

fn lines(conversation: &Conversation) -> Vec<String> {
    let text = fs::read_to_string(conversation.folder().join(EVENTS)).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_fork_begins_as_the_other_did() {
    let it = StoreFixture::new();
    let source = it.conversation(one_turn("t1", 10));
    let blob = source.blobs().keep(b"old").unwrap();
    let unused = source.blobs().keep(b"unused").unwrap();
    let edit = Edit {
        call: 0,
        path: "a".into(),
        before: Some(blob.clone()),
        after: None,
        mode: None,
    };
    it.append(&source, vec![("t1", 13, Entry::Edit(edit))]);
    it.append(&source, one_turn("t2", 20));
    it.append(&source, one_turn("t3", 30));
    let original = lines(&source);
    // A bad line goes along, to be reported there as it is here.
    let bad = [
        original[..1].join("\n"),
        "bad".into(),
        original[1..].join("\n"),
    ]
    .join("\n")
        + "\n";
    fs::write(source.folder().join(EVENTS), bad).unwrap();
    let original = lines(&source);
    for (until, kept) in [
        (ForkExtent::Turns(1), 5),
        (ForkExtent::Turn("t2"), 8),
        (ForkExtent::Turns(3), 11),
        (ForkExtent::Turn("t3"), 11),
        (ForkExtent::Now, 11),
    ] {
        let _held = source.log(at(1)).unwrap();
        let fork = it.store.fork(&source, until, at(40)).unwrap();
        let forked = lines(&fork);
        assert_eq!(forked[..kept], original[..kept]);
        assert_eq!(forked.len(), kept + 1);
        let text = format!("This conversation is a fork of {}.", source.id());
        assert!(forked[kept].contains(&text));
        assert_eq!(fork.blobs().read(&blob, 0..9).unwrap(), b"old");
        assert!(fork.blobs().read(&unused, 0..9).is_err());
        assert_eq!(fork.read_all().unwrap().faults.len(), 1);
        assert_eq!(fork.listed().unwrap().title, "do t1");
        it.store.delete(&fork, at(41)).unwrap();
    }
    for until in [
        ForkExtent::Turn("t9"),
        ForkExtent::Turns(0),
        ForkExtent::Turns(4),
    ] {
        let error = it.store.fork(&source, until, at(40)).unwrap_err();
        assert!(matches!(error, StoreError::NoTurn { .. }), "{error}");
    }
    assert_eq!(it.store.list().unwrap().len(), 1);
}

#[test]
fn a_fork_does_not_share_open_prompts() {
    let it = StoreFixture::new();
    let source = it.conversation(vec![("t1", 10, start()), ("t1", 11, prompt())]);
    let fork = it.store.fork(&source, ForkExtent::Now, at(12)).unwrap();
    assert_eq!(source.listed().unwrap().prompts, 1);
    let listed = fork.listed().unwrap();
    assert_eq!(
        (listed.status, listed.prompts),
        (ConversationActivity::Idle, 0)
    );
}

#[test]
fn a_deleted_conversation_is_gone_unless_it_is_open() {
    let it = StoreFixture::new();
    let conversation = it.conversation(one_turn("t1", 10));
    conversation.blobs().keep(b"x").unwrap();
    let log = conversation.log(at(20)).unwrap();
    assert!(matches!(
        it.store.delete(&conversation, at(20)),
        Err(StoreError::Open(_))
    ));
    drop(log);
    // A torn line that cannot be set aside does not keep anybody from deleting it.
    fs::write(conversation.folder().join(EVENTS), "torn").unwrap();
    fs::create_dir(conversation.folder().join("events.torn-0")).unwrap();
    assert!(matches!(
        conversation.log(at(20)),
        Err(OpenError::Io { .. })
    ));
    it.store.delete(&conversation, at(20)).unwrap();
    assert!(matches!(
        conversation.log(at(20)),
        Err(OpenError::Io { .. })
    ));
    assert!(it.store.list().unwrap().is_empty());
    let left: Vec<_> = fs::read_dir(&it.store.folder).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    assert!(it.state.path().exists());
}

#[test]
fn a_line_that_nobody_knows_is_copied_as_it_is() {
    let it = StoreFixture::new();
    let source = it.conversation(vec![]);
    let dream = Entry::Unknown {
        version: 2,
        body: serde_json::json!({"type": "dream", "of": "sheep"}),
    };
    it.append(
        &source,
        vec![("t1", 10, start()), ("t1", 11, dream.clone())],
    );
    let fork = it.store.fork(&source, ForkExtent::Now, at(12)).unwrap();
    let records: Vec<Record> = fork.read_all().unwrap().records;
    assert_eq!(records[1].entry, dream);
}
