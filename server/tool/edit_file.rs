//! `edit_file`: exact replacement of a text. Where the text occurs more than once, it asks which is meant.

use std::ops::Range;

use serde::Deserialize;
use serde_json::{Value, json};

use aside_base::visible::short_line;
use aside_turn::{
    question::{AnswerType, Persistence, Question},
    rules::Class,
};

use super::{
    BlockingTool, CallPlan, Planning, ToolSpec, Unplanned, change::FileChange, hold::asked,
    line_ends, workspace::TextFile,
};

/// The id of the question.
const OCCURRENCE: &str = "occurrence";
/// The answer that means every place.
const ALL: &str = "all";
/// Places beyond which it does not ask.
const PLACES: usize = 20;
/// Lines around a place that are shown with the question.
const AROUND: usize = 2;
/// Characters of such a line.
const WIDTH: usize = 160;

/// The tool `edit_file`, as the arguments of a call.
#[derive(Deserialize)]
pub(super) struct EditFile {
    path: String,
    old_text: String,
    new_text: String,
}

impl BlockingTool for EditFile {
    fn spec() -> ToolSpec {
        let mut spec = ToolSpec::new(
            "edit_file",
            "Replace a text in a file by another. `old_text` must be exactly what is in the file, white \
             space and line breaks included, with enough around it to occur once. Read the file first: a \
             file that changed since you read it is not edited.",
            json!({
                "type": "object",
                "properties": {
                    "path": {"type": "string", "description": "The file, from the workspace's root."},
                    "old_text": {"type": "string", "description": "The text to replace, exactly."},
                    "new_text": {"type": "string", "description": "The text to put there. Empty to take the old one away."}
                },
                "required": ["path", "old_text", "new_text"],
                "additionalProperties": false
            }),
        );
        spec.class = Class::Edits;
        spec.questions = Some(&[OCCURRENCE]);
        spec.default_targets = &[OCCURRENCE];
        spec
    }

    fn plan(self, planning: Planning) -> Result<CallPlan, Unplanned> {
        if self.old_text.is_empty() {
            return Err(planning
                .invalid("`old_text` is empty; use write_file for a new file")
                .into());
        }
        if self.old_text == self.new_text {
            return Err(planning
                .invalid("`old_text` and `new_text` are the same")
                .into());
        }
        let file = asked(planning.known_before(&self.path)?, planning.context());
        let path = file.path.clone();
        let Some(old) = file.old.as_ref() else {
            return Err(format!("There is no `{path}`; create it with write_file.").into());
        };
        let places = line_ends::places(&old.text, &self.old_text, PLACES + 1);
        // Which of several was meant was said of the text that the model read.
        let file = match places.len() {
            0 | 1 => file,
            _ => file.unmoved()?,
        };
        let Some(old) = file.old.as_ref() else {
            return Err(format!("There is no `{path}`; create it with write_file.").into());
        };
        let chosen = match places.as_slice() {
            [] => {
                return Err(format!(
                "`old_text` does not occur in `{path}`; read the file again and copy the text exactly."
            ).into());
            }
            [only] => vec![only.clone()],
            _ if places.len() > PLACES => {
                return Err(format!(
                "`old_text` occurs over {PLACES} times in `{path}`; give more of the text around the place that you mean."
            ).into());
            }
            _ => match self.chosen(&planning, old, &places) {
                Some(chosen) => chosen,
                None => {
                    let kept = planning
                        .context()
                        .keep_asked(planning.work().call, &old.hash);
                    kept.map_err(|error| format!("It cannot be asked which is meant: {error}."))?;
                    let question = question(&path, &old.text, &places);
                    return Err(Unplanned::Question(Box::new(question)));
                }
            },
        };
        let new = self.replaced(&old.text, &chosen);
        // What must be asked for was asked for as it was shown.
        let follows = places.len() == 1 && file.must_ask.is_none();
        let mut change = FileChange::new(file, new);
        change.follows = follows;
        Ok(change.plan(planning))
    }
}

impl EditFile {
    /// The text with the new one in these places.
    fn replaced(&self, text: &str, places: &[Range<usize>]) -> String {
        let mut out = String::with_capacity(text.len() + places.len() * self.new_text.len());
        let mut from = 0;
        for place in places {
            out.push_str(&text[from..place.start]);
            let new = line_ends::for_place(text, place, &self.old_text, &self.new_text);
            out.push_str(&new);
            from = place.end;
        }
        out + &text[from..]
    }

    /// The places that the latest answer means; none where it is missing or about another text: a line is another one
    /// as soon as another call of the same message has edited the file.
    fn chosen(
        &self,
        planning: &Planning,
        old: &TextFile,
        places: &[Range<usize>],
    ) -> Option<Vec<Range<usize>>> {
        let answers = &planning.work().answers;
        let (_, answer) = answers.iter().rev().find(|(id, _)| id == OCCURRENCE)?;
        let answer = answer.value().and_then(Value::as_str)?;
        let call = planning.work().call;
        if !planning.context().was_asked(call, &old.hash) {
            return None;
        }
        if answer == ALL {
            return (!line_ends::overlap(places)).then(|| places.to_vec());
        }
        let labels = labels(&old.text, places);
        let at = labels.iter().position(|label| label == answer)?;
        Some(vec![places[at].clone()])
    }
}

/// `<line>`, or `<line>:<column>` where a line has several; both count from 1, columns in characters.
fn labels(text: &str, places: &[Range<usize>]) -> Vec<String> {
    let lines = places.iter().map(|place| line_of(text, place.start));
    let lines: Vec<usize> = lines.collect();
    let label = |(at, line): (usize, &usize)| {
        if lines.iter().filter(|other| *other == line).count() == 1 {
            return line.to_string();
        }
        let place = places[at].start;
        let start = text[..place].rfind('\n').map_or(0, |end| end + 1);
        format!("{line}:{}", text[start..place].chars().count() + 1)
    };
    lines.iter().enumerate().map(label).collect()
}

fn line_of(text: &str, place: usize) -> usize {
    text[..place].matches('\n').count() + 1
}

fn question(path: &str, text: &str, places: &[Range<usize>]) -> Question {
    let lines: Vec<&str> = text.lines().collect();
    let mut options = labels(text, places);
    let context = places.iter().zip(&options).map(|(place, label)| {
        let around = surroundings(&lines, line_of(text, place.start));
        format!("{label}:\n{around}")
    });
    let mut context: Vec<String> = context.collect();
    let count = places.len();
    match line_ends::overlap(places) {
        true => context.push("Some of them overlap, so that only one can be meant.".to_owned()),
        false => options.push(ALL.to_owned()),
    }
    let asked = format!("The text to replace occurs {count} times in {path}. Which one is meant?");
    let asked = short_line(&asked, 300);
    let mut question = Question::new(OCCURRENCE, asked, AnswerType::Select { options });
    question.context = Some(context.join("\n\n"));
    question.persistence = Persistence::None;
    question
}

fn surroundings(lines: &[&str], line: usize) -> String {
    let from = line.saturating_sub(AROUND).max(1);
    let to = (line + AROUND).min(lines.len());
    let show = |at: usize| {
        let mark = if at == line { '>' } else { ' ' };
        let text: String = lines[at - 1].chars().take(WIDTH).collect();
        format!("{mark} {at} | {text}")
    };
    (from..=to).map(show).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
#[path = "edit_file_tests.rs"]
mod tests;
