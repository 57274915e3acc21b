//! `recall`: passages of this conversation, also of the part that a summary stands for.

use serde::Deserialize;
use serde_json::json;

use aside_base::visible::{printable, short_line};
use aside_turn::{
    clearing::RECALL as NAME,
    history::passage::Passage,
    input::{ToolOutcome, ToolOutput},
};

use super::{BlockingTool, CallPlan, Planning, ToolContext, ToolRun, ToolSpec, Unplanned};

/// Lines of a passage that are shown around each line with one of the words.
const AROUND: usize = 2;
/// Bytes of a passage beyond which it is cut.
const PASSAGE: usize = 4 * 1024;
/// Bytes of a line beyond which it is cut.
const LINE: usize = 400;
/// Shape of a time down to its second.
const SECONDS: &str = "0000-00-00T00:00:00";

/// The tool `recall`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct Recall {
    #[serde(default)]
    words: String,
    file: Option<String>,
    first_turn: Option<u32>,
    last_turn: Option<u32>,
    since: Option<String>,
    until: Option<String>,
}

impl BlockingTool for Recall {
    fn spec() -> ToolSpec {
        ToolSpec::new(
            NAME,
            "Search the log of this conversation, which has all that was said and read, also what a summary left out. Gives \
             the newest passages that fit.",
            json!({
                "type": "object",
                "properties": {
                    "words": {"type": "string", "description": "Words that a passage must have, all of them, in any case and order."},
                    "file": {"type": "string", "description": "A path, or a part of it, that a passage must name."},
                    "first_turn": {"type": "integer", "minimum": 1, "description": "The first turn to search."},
                    "last_turn": {"type": "integer", "minimum": 1, "description": "The last turn to search."},
                    "since": {"type": "string", "description": "UTC time or its beginning, such as 2026-11-28T10."},
                    "until": {"type": "string", "description": "UTC time or its beginning, such as 2026-11-28."}
                },
                "additionalProperties": false
            }),
        )
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        let title = match self.words.trim() {
            "" => "Look up what was said".to_owned(),
            words => format!("Look up what was said: {}", short_line(words, 60)),
        };
        let recall = move |run: ToolRun| recall(&self, &run.context);
        Ok(planning.blocking(title, recall))
    }
}

fn recall(args: &Recall, context: &ToolContext) -> Result<ToolOutcome, String> {
    let words: Vec<String> = args
        .words
        .split_whitespace()
        .map(str::to_lowercase)
        .collect();
    let is_bounded = args.file.is_some() || args.first_turn.is_some() || args.since.is_some();
    if words.is_empty() && !is_bounded && args.last_turn.is_none() && args.until.is_none() {
        return Err("Say what to look for: words, a file, turns or a time.".to_owned());
    }
    if let Some(wrong) = wrong_bounds(args) {
        return Err(wrong);
    }
    let found = (context.said)(&|said, time| passage(args, &words, said, time))
        .map_err(|error| format!("The log of this conversation cannot be read: {error}."))?;
    let (mut room, mut shown) = (context.room(), 0);
    for passage in found.iter().rev() {
        match room.checked_sub(passage.len() + 1) {
            Some(left) => room = left,
            None => break,
        }
        shown += 1;
    }
    let mut content = found[found.len() - shown..].join("\n");
    if content.is_empty() {
        content = "Nothing like that was said.".to_owned();
    }
    let left_out = found.len() - shown;
    if left_out > 0 {
        content = format!(
            "[{left_out} older passages left out; ask for more words, a file or turns]\n\n{content}"
        );
    }
    Ok(ToolOutcome::Success(ToolOutput {
        content,
        summary: format!("{} passages", found.len()),
        ..ToolOutput::default()
    }))
}

/// The reason why nothing can lie within the turns and times of a search, if that is so.
fn wrong_bounds(args: &Recall) -> Option<String> {
    if let (Some(first), Some(last)) = (args.first_turn, args.last_turn)
        && first > last
    {
        return Some(format!(
            "first_turn {first} comes after last_turn {last}: exchange them."
        ));
    }
    let bounds = [("since", &args.since), ("until", &args.until)];
    for (name, time) in bounds {
        let time = time.as_deref().unwrap_or_default();
        let is_digit_or = |(c, like): (char, char)| match like {
            '0' => c.is_ascii_digit(),
            like => c == like,
        };
        let (begin, rest) = time.split_at(time.floor_char_boundary(SECONDS.len()));
        let is_begin = begin.chars().zip(SECONDS.chars()).all(is_digit_or);
        if !is_begin || !matches!(rest, "" | "Z") {
            return Some(format!(
                "{name} {time:?} is no time: write it in UTC, such as 2026-11-28T10."
            ));
        }
    }
    let (since, until) = (bound(args.since.as_ref())?, bound(args.until.as_ref())?);
    let begin = since.get(..until.len()).unwrap_or(since);
    (begin > until).then(|| format!("since {since} comes after until {until}: exchange them."))
}

/// A bound in time, of which each time of that second is.
fn bound(time: Option<&String>) -> Option<&str> {
    time.map(|time| time.trim_end_matches('Z'))
}

/// A passage as it is shown, if it is one of those that are looked for.
fn passage(args: &Recall, words: &[String], said: &Passage, time: &str) -> Option<String> {
    let is_in_turns = args.first_turn.is_none_or(|first| said.turn >= first)
        && args.last_turn.is_none_or(|last| said.turn <= last);
    let is_in_time = bound(args.since.as_ref()).is_none_or(|since| time >= since)
        && bound(args.until.as_ref()).is_none_or(|until| {
            let begin = time.get(..until.len()).unwrap_or(time);
            begin <= until
        });
    // What an earlier search found would be found again and again.
    let is_own = said.tool.as_deref() == Some(NAME);
    if !is_in_turns || !is_in_time || is_own {
        return None;
    }
    if let Some(file) = &args.file
        && !said.text.contains(file)
        && !said.who.contains(file)
    {
        return None;
    }
    let lower = said.text.to_lowercase();
    let who = said.who.to_lowercase();
    let has_all = words
        .iter()
        .all(|word| lower.contains(word) || who.contains(word));
    has_all.then(|| {
        let who = short_line(&said.who, LINE);
        let text = excerpt(&printable(said.text.as_bytes()), words);
        format!("## turn {}, {time}, {who}\n{text}\n", said.turn)
    })
}

/// The lines with one of the words and those around them; the whole text where that is short.
fn excerpt(text: &str, words: &[String]) -> String {
    if text.len() <= PASSAGE / 2 {
        return text.trim_end().to_owned();
    }
    let lines: Vec<&str> = text.lines().collect();
    let has_word = |line: &str| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    let mut near = vec![words.is_empty(); lines.len()];
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| has_word(line)) {
        let end = (at + AROUND + 1).min(lines.len());
        near[at.saturating_sub(AROUND)..end].fill(true);
    }
    let (mut shown, mut left_out) = (String::new(), 0);
    for (line, near) in lines.into_iter().zip(near) {
        if !near || shown.len() + LINE.min(line.len()) > PASSAGE {
            left_out += 1;
            continue;
        }
        if left_out > 0 {
            shown += &format!("[{left_out} lines]\n");
            left_out = 0;
        }
        shown += &short_line(beginning(line, words), LINE);
        shown.push('\n');
    }
    if left_out > 0 {
        shown += &format!("[{left_out} lines]\n");
    }
    shown.trim_end().to_owned()
}

/// The line from a little before the first of the words on, where that is far behind its beginning.
fn beginning<'a>(line: &'a str, words: &[String]) -> &'a str {
    let lower = line.to_lowercase();
    let at = words.iter().filter_map(|word| lower.find(word)).min();
    // Letters of another case may have more bytes, so the place is about right.
    match at.filter(|at| *at > LINE / 2) {
        Some(at) => &line[line.floor_char_boundary(at - LINE / 2)..],
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    const TIME: &str = "2026-11-28T10:20:30Z";

    async fn check(said: &[(u32, &str, &str)], args: serde_json::Value, outcome: &str) {
        let mut trial = ToolTrial::new(&[]);
        for (turn, who, text) in said {
            trial.says(*turn, TIME, who, text);
        }
        trial.check("recall", args, outcome).await;
    }

    const SAID: [(u32, &str, &str); 5] = [
        (1, "the user", "Use port 8080."),
        (1, "answer of the user", "Which host?\nexample.org"),
        (2, "result of read_file {\"path\":\"a.rs\"}", "fn port() {}"),
        (2, "the model, calling recall", "{\"words\":\"port\"}"),
        (2, "result of recall {\"words\":\"port\"}", "Use port 8080."),
    ];

    #[tokio::test]
    async fn passages_have_all_the_words_in_any_case() {
        check(
            &SAID,
            json!({"words": "PORT use"}),
            "ok: ## turn 1, 2026-11-28T10:20:30Z, the user\nUse port 8080.\n",
        )
        .await;
        let long = format!(
            "{}the port is 4711{}",
            "a ".repeat(2_000),
            " b".repeat(2_000)
        );
        let mut trial = ToolTrial::new(&[]);
        trial.says(1, TIME, "the user", &long);
        let found = trial.call("recall", json!({"words": "port"})).await;
        assert!(found.contains("the port is 4711"), "{found}");
        let nothing = "ok: Nothing like that was said.";
        check(&SAID, json!({"words": "port 9090"}), nothing).await;
        let without = "error: Say what to look for: words, a file, turns or a time.";
        check(&SAID, json!({"words": " "}), without).await;
    }

    #[tokio::test]
    async fn files_turns_and_times_narrow_the_search() {
        let of_file = "ok: ## turn 2, 2026-11-28T10:20:30Z, result of read_file {\"path\":\"a.rs\"}\nfn port() {}\n";
        check(&SAID, json!({"file": "a.rs"}), of_file).await;
        check(&SAID, json!({"words": "port", "first_turn": 2}), of_file).await;
        let answer =
            "ok: ## turn 1, 2026-11-28T10:20:30Z, answer of the user\nWhich host?\nexample.org\n";
        check(&SAID, json!({"words": "host", "last_turn": 1}), answer).await;
        let nothing = "ok: Nothing like that was said.";
        for (bound, time, found) in [
            ("since", "2026-11-28", answer),
            ("since", "2026-11-28T10:20:31", nothing),
            ("until", "2026-11-28T10", answer),
            ("until", "2026-11-28T09", nothing),
            ("until", "2026-11-28T10:20:30Z", answer),
            (
                "since",
                "yesterday",
                "error: since \"yesterday\" is no time: write it in UTC, such as 2026-11-28T10.",
            ),
            (
                "until",
                "2026-11-28T10:20:30+02:00",
                "error: until \"2026-11-28T10:20:30+02:00\" is no time: write it in UTC, such as 2026-11-28T10.",
            ),
        ] {
            check(&SAID, json!({"words": "host", bound: time}), found).await;
        }
        check(
            &SAID,
            json!({"words": "host", "first_turn": 2, "last_turn": 1}),
            "error: first_turn 2 comes after last_turn 1: exchange them.",
        )
        .await;
    }

    #[tokio::test]
    async fn long_passages_show_the_lines_around_a_word_and_old_ones_are_left_out_first() {
        let long: Vec<String> = (0..5_000).map(|line| format!("line {line}")).collect();
        let long = long.join("\n");
        check(
            &[(1, "result of run_command {}", &long)],
            json!({"words": "4321"}),
            "ok: ## turn 1, 2026-11-28T10:20:30Z, result of run_command {}\n[4319 lines]\nline 4319\nline 4320\nline \
             4321\nline 4322\nline 4323\n[676 lines]\n",
        )
        .await;
        let text = "x".repeat(2_000);
        let mut trial = ToolTrial::new(&[]);
        for turn in 1..=100 {
            trial.says(turn, TIME, "the model", &text);
        }
        let found = trial.call("recall", json!({"words": "x"})).await;
        assert!(found.len() < trial.context.room() + 200, "{}", found.len());
        assert!(found.starts_with("ok: ["), "{}", &found[..80]);
        assert!(found.contains("## turn 100,"));
        assert!(!found.contains("## turn 1,"));
    }
}
