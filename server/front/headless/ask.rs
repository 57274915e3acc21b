//! Renders prompts as text and parses the typed replies. Pure; [`super::terminal`] reads and writes.
//!
//! Text of models, tools and files is shown behind a bar or on one line, with invisible characters made visible. It can
//! neither control the terminal nor look like part of the prompt.

#[cfg(test)]
pub(super) mod tests;

use aside_base::diff::by_lines;
use aside_base::visible::{one_line, visible};
use aside_turn::{
    effect::{Prompt, PromptKind, TurnPermission},
    input::{Preview, PromptAnswer, SecretValue},
    question::{AnswerType, has_clear_numbers},
    record::{Permission, Vocabulary},
};
use serde_json::Value;
use similar::{Change, ChangeTag};
use unicode_width::UnicodeWidthStr;

use super::{
    barred::{behind_bar, show_text, show_words},
    long_line,
    paint::Paint,
    wrap::wrapped,
};

/// Meaning of a typed line.
#[derive(Clone, Debug, PartialEq)]
pub enum TypedLine {
    /// The line settles the prompt.
    Reply(PromptAnswer),
    /// The line is not a valid reply. The message to print before asking again.
    Again(String),
}

/// The change that a prompt asks about, as shown; `None` if the prompt is not about a change.
#[must_use]
pub fn change(prompt: &Prompt, paint: Paint) -> Option<String> {
    let preview = preview(prompt)?;
    let mut shown = String::new();
    matches!(preview, Preview::Diff { .. }).then(|| {
        // A pager wraps lines itself.
        show_preview(&mut shown, &preview, paint, 0);
        shown
    })
}

/// Renders the prompt for a person who has already seen the change and can show it again with `v`.
#[must_use]
pub fn render_after_change(prompt: &Prompt, paint: Paint, columns: usize) -> String {
    let seen = Prompt {
        preview: match &prompt.preview {
            Some(Preview::Diff { uri, .. }) => Some(Preview::Text {
                text: format!("{} (v: show the change again)", file(uri)),
            }),
            other => other.clone(),
        },
        ..prompt.clone()
    };
    render(&seen, paint, columns)
}

/// Renders the prompt for a width in columns, up to the place where the reply is typed. Overlong text continues behind
/// another bar: it cannot look like a line of Aside, and its end is visible.
#[must_use]
pub fn render(prompt: &Prompt, paint: Paint, columns: usize) -> String {
    let mut shown = format!("\n{}\n", paint.bold(&header(prompt)));
    if let Some(context) = &prompt.context {
        match (&prompt.answer_type, prompt.kind) {
            // The context contains the command to run.
            (AnswerType::Select { options }, PromptKind::Question)
                if is_permission(prompt, options) =>
            {
                show_text(&mut shown, context, paint, columns);
            }
            _ => show_words(&mut shown, context, paint, columns),
        }
    }
    if let Some(preview) = preview(prompt) {
        show_preview(&mut shown, &preview, paint, columns);
    }
    shown.push_str(&wrapped(&one_line(&prompt.text), "", "", columns));
    shown.push('\n');
    for choice in choices(prompt) {
        let key = choice.key.as_deref().unwrap_or("-");
        let behind = " ".repeat(key.width() + 4);
        let says = wrapped(&choice.says, &behind, &behind, columns);
        let says = &says[behind.len()..];
        shown.push_str(&format!("  {}  {says}\n", paint.bold(key)));
    }
    for line in wrapped(&legend(prompt), "  ", "  ", columns).lines() {
        shown.push_str(&format!("{}\n", paint.dim(line)));
    }
    shown.push_str("> ");
    shown
}

/// Parses a typed line, without its line end. Ctrl-D is not a line: it dismisses the prompt.
#[must_use]
pub fn parse_line(prompt: &Prompt, line: &str) -> TypedLine {
    if line.trim() == "\x1b" {
        return TypedLine::Reply(PromptAnswer::Cancel);
    }
    if prompt.answer_type == AnswerType::Secret {
        // A secret is taken as typed: it may begin with a blank or an exclamation mark.
        return match line {
            "" if prompt.optional => answer(Value::Null, false),
            "" => TypedLine::Again(
                "Nothing was typed; type the secret, or press Ctrl-D to skip.".into(),
            ),
            secret => answer(secret.into(), false),
        };
    }
    let takes_one = !matches!(prompt.answer_type, AnswerType::MultiSelect { .. });
    let chosen = choices(prompt).into_iter().find(|choice| choice.is(line));
    if let Some(choice) = chosen.filter(|_| takes_one) {
        return answer(choice.value, choice.remember);
    }
    if let Some(note) = line.trim_start().strip_prefix('!') {
        let note = Some(note.trim())
            .filter(|note| !note.is_empty())
            .map(Into::into);
        return TypedLine::Reply(PromptAnswer::Decline { note });
    }
    if line.trim().is_empty() {
        return match default(prompt) {
            Some(default) => answer(default.clone(), false),
            None if prompt.optional => answer(Value::Null, false),
            None => TypedLine::Again("Nothing was typed; answer, or press Ctrl-D to skip.".into()),
        };
    }
    if prompt.optional && line.trim() == LEAVE_OUT {
        return answer(Value::Null, false);
    }
    let value = match prompt.answer_type {
        AnswerType::Text { .. } => line
            .strip_prefix('\\')
            .filter(|rest| rest.starts_with('!') || (prompt.optional && rest.trim() == LEAVE_OUT))
            .unwrap_or(line)
            .into(),
        AnswerType::Number { .. } | AnswerType::MultiSelect { .. } => {
            prompt.answer_type.of_person(line)
        }
        _ => {
            let expected = expected(prompt);
            return TypedLine::Again(format!("That is not one of the answers; {expected}."));
        }
    };
    match prompt.answer_type.accept(&value) {
        Ok(_) => answer(value, false),
        Err(misfit) => {
            let how = how_to_type(&prompt.answer_type);
            TypedLine::Again(format!("{}{how}", visible(&misfit.0)))
        }
    }
}

/// Whether this answer may settle other open prompts too.
pub(super) fn may_settle_others(answer: &PromptAnswer) -> bool {
    let PromptAnswer::Answer {
        value, remember, ..
    } = answer
    else {
        return false;
    };
    let permission = value.0.as_str().and_then(Permission::of);
    *remember || matches!(permission, Some(Permission::Turn | Permission::Always))
}

/// The line that stands for no answer to an optional question.
const LEAVE_OUT: &str = "-";

fn answer(value: Value, remember: bool) -> TypedLine {
    TypedLine::Reply(PromptAnswer::Answer {
        value: SecretValue(value),
        remember,
        new_text: None,
    })
}

/// One of several possible answers.
struct Choice {
    /// Key to type; `None` if the answer has to be typed in full.
    key: Option<String>,
    /// Other accepted texts.
    words: Vec<String>,
    /// Meaning of the answer, for people.
    says: String,
    value: Value,
    remember: bool,
}

impl Choice {
    fn new(key: &str, words: &[&str], says: &str, value: impl Into<Value>) -> Self {
        let words = words.iter().map(ToString::to_string).collect();
        Self {
            key: Some(key.into()),
            words,
            says: says.into(),
            value: value.into(),
            remember: false,
        }
    }

    fn is(&self, line: &str) -> bool {
        let typed = line.trim();
        self.key.as_deref() == Some(typed)
            || self.words.iter().any(|word| word == line || word == typed)
    }
}

fn choices(prompt: &Prompt) -> Vec<Choice> {
    match (&prompt.answer_type, prompt.kind) {
        (AnswerType::Boolean, _) => yes_or_no(prompt.remember),
        (AnswerType::Select { options }, PromptKind::RunTool) => {
            let is_edit = prompt.turn_permits == Some(TurnPermission::Edits);
            options
                .iter()
                .map(|option| permission(option, is_edit))
                .collect()
        }
        // A running tool asks this, but it is a permission like `runTool`.
        (AnswerType::Select { options }, PromptKind::Question)
            if is_permission(prompt, options) =>
        {
            let numbered = numbered(options).into_iter();
            let choices = options.iter().zip(numbered).map(|(option, number)| {
                let mut choice = permission(option, false);
                choice.words.extend(number.key);
                choice
            });
            choices.collect()
        }
        (AnswerType::Select { options } | AnswerType::MultiSelect { options, .. }, _) => {
            numbered(options)
        }
        (AnswerType::Number { .. } | AnswerType::Text { .. } | AnswerType::Secret, _) => vec![],
    }
}

/// Choices of a yes-or-no question. If a capital means "for the rest of this turn", only the single letter does: `YES`
/// is a plain yes.
fn yes_or_no(remember: bool) -> Vec<Choice> {
    let mut choices = vec![
        Choice::new("y", &["yes", "Yes", "YES", "true"], "yes", true),
        Choice::new("n", &["no", "No", "NO", "false"], "no", false),
    ];
    if remember {
        let lasting = |key, says, value: bool| Choice {
            remember: true,
            ..Choice::new(key, &[], says, value)
        };
        choices.push(lasting("Y", "yes, for the rest of this turn", true));
        choices.push(lasting("N", "no, for the rest of this turn", false));
    } else {
        choices[0].words.push("Y".into());
        choices[1].words.push("N".into());
    }
    choices
}

/// Whether a question asks for permission to run a command outside the sandbox.
fn is_permission(prompt: &Prompt, options: &[String]) -> bool {
    prompt.tool == "run_command" && options.iter().all(|it| Permission::of(it).is_some())
}

fn permission(option: &str, is_edit: bool) -> Choice {
    let (key, says) = match (Permission::of(option), is_edit) {
        (Some(Permission::Once), false) => ("y", "run it once"),
        (Some(Permission::Once), true) => ("y", "make this change"),
        (Some(Permission::Turn), false) => (
            "t",
            "run it, and allow the same call for the rest of this turn",
        ),
        (Some(Permission::Turn), true) => {
            ("t", "make this change and all other edits of this turn")
        }
        (Some(Permission::Always), _) => ("a", "run it now and always"),
        (Some(Permission::No), _) => ("n", "no"),
        // An unknown option, of a later version, can still be chosen by its name.
        (None, _) => (option, option),
    };
    let words: &[&str] = match key {
        "y" => &[option, "o", "yes", "Yes", "YES", "Y"],
        "n" => &[option, "No", "NO", "N"],
        _ => &[option],
    };
    Choice::new(key, words, &one_line(says), option)
}

/// Options by number or by text. If an option is itself the number of another one, numbers would be ambiguous, so only
/// texts are accepted.
fn numbered(options: &[String]) -> Vec<Choice> {
    let by_number = has_clear_numbers(options);
    let choice = |(at, option): (usize, &String)| Choice {
        key: by_number.then(|| (at + 1).to_string()),
        words: vec![option.clone()],
        says: one_line(option),
        value: option.as_str().into(),
        remember: false,
    };
    options.iter().enumerate().map(choice).collect()
}

/// The answer for an empty line. A permission has none: Enter alone never allows anything.
fn default(prompt: &Prompt) -> Option<&Value> {
    prompt
        .default
        .as_ref()
        .filter(|_| prompt.kind == PromptKind::Question)
}

fn header(prompt: &Prompt) -> String {
    let label = one_line(&prompt.label);
    match prompt.position {
        (n, of) if of > 1 => format!("── {label} ({n} of {of}) ──"),
        _ => format!("── {label} ──"),
    }
}

fn legend(prompt: &Prompt) -> String {
    if prompt.answer_type == AnswerType::Secret {
        let enter = match prompt.optional {
            true => " · Enter: leave it out",
            false => "",
        };
        return format!("your input is hidden and goes only to this tool{enter} · Ctrl-D: skip");
    }
    let enter = match default(prompt) {
        Some(default) => format!("Enter: {} · ", value_text(default)),
        None => String::new(),
    };
    let leave_out = match (prompt.optional, default(prompt)) {
        (false, _) => "",
        (true, Some(_)) => "-: leave it out · ",
        (true, None) => "Enter or -: leave it out · ",
    };
    let literal = match (&prompt.answer_type, prompt.optional) {
        (AnswerType::Text { .. }, false) => " · \\!text: an answer that begins with !",
        (AnswerType::Text { .. }, true) => " · \\!text, \\-: an answer that begins with !, or is -",
        _ => "",
    };
    let typed = what_to_type(&prompt.answer_type);
    format!("{typed}{enter}{leave_out}!: decline, !text: with a note · Ctrl-D: skip{literal}")
}

/// The expected input, if the choices do not show it.
fn what_to_type(answer_type: &AnswerType) -> String {
    let AnswerType::MultiSelect {
        options, minimum, ..
    } = answer_type
    else {
        let phrase = answer_type.phrase();
        return phrase.map_or_else(String::new, |phrase| format!("{phrase} · "));
    };
    let how_many = answer_type.how_many().unwrap_or_else(|| "any".into());
    let between = if options.iter().any(|option| option.contains(',')) {
        "as a JSON array"
    } else {
        "separated by commas"
    };
    let none = match minimum.unwrap_or(0) {
        0 => ", or none",
        _ => "",
    };
    format!("{how_many} of them, {between}{none} · ")
}

/// Advice on typing several options, as a sentence; empty for other types.
fn how_to_type(answer_type: &AnswerType) -> &'static str {
    match answer_type {
        AnswerType::MultiSelect { options, .. } if has_clear_numbers(options) => {
            " Type their numbers, separated by blanks or commas."
        }
        AnswerType::MultiSelect { options, .. }
            if options.iter().any(|option| option.contains(',')) =>
        {
            " Type them as a JSON array."
        }
        AnswerType::MultiSelect { .. } => " Type them separated by commas.",
        _ => "",
    }
}

/// An answer in the words of the prompt.
pub(super) fn value_text(value: &Value) -> String {
    match value {
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        Value::String(text) => one_line(text),
        Value::Array(chosen) if chosen.is_empty() => "none".into(),
        Value::Array(chosen) => {
            let texts: Vec<String> = chosen.iter().map(value_text).collect();
            texts.join(", ")
        }
        other => other.to_string(),
    }
}

fn expected(prompt: &Prompt) -> String {
    let keys: Vec<String> = choices(prompt)
        .into_iter()
        .filter_map(|choice| choice.key)
        .collect();
    match keys.as_slice() {
        [] => "type one of the texts in full".into(),
        [first, .., last] if keys.len() > 6 => format!("type a number from {first} to {last}"),
        [all @ .., last] if !all.is_empty() => format!("type {} or {last}", all.join(", ")),
        [only, ..] => format!("type {only}"),
    }
}

/// The preview to show before a person allows something. A call without a preview shows its arguments: nothing is
/// allowed unseen.
fn preview(prompt: &Prompt) -> Option<Preview> {
    match (&prompt.preview, prompt.kind) {
        (Some(preview), _) => Some(preview.clone()),
        (None, PromptKind::RunTool) => Some(Preview::Text {
            text: serde_json::to_string_pretty(&prompt.arguments).unwrap_or_default(),
        }),
        (None, _) => None,
    }
}

fn show_preview(shown: &mut String, preview: &Preview, paint: Paint, columns: usize) {
    match preview {
        Preview::Command { text, cwd } => {
            shown.push_str(&format!("in {}\n", one_line(cwd)));
            show_text(shown, text, paint, columns);
        }
        Preview::Text { text } => show_text(shown, text, paint, columns),
        Preview::Diff { uri, old, new, .. } => {
            shown.push_str(&format!("{}\n", file(uri)));
            show_diff(shown, (old, new), paint, columns);
        }
    }
}

fn file(uri: &str) -> String {
    one_line(uri.strip_prefix("file://").unwrap_or(uri))
}

/// The line that a removed line became, or that an added one was: the one in the same place of the other kind's run.
fn counterpart<'a>(changes: &[Change<&'a str>], at: usize) -> Option<&'a str> {
    let tag = changes[at].tag();
    let run = |tag: ChangeTag, from: usize| {
        let run = changes[from..].iter();
        run.take_while(move |change| change.tag() == tag).count()
    };
    let before = changes[..at].iter().rev();
    let nth = before.take_while(|change| change.tag() == tag).count();
    let first = at - nth;
    let other = match tag {
        ChangeTag::Delete => first + run(ChangeTag::Delete, first) + nth,
        ChangeTag::Insert => {
            let removed = changes[..first].iter().rev();
            let count = removed
                .take_while(|it| it.tag() == ChangeTag::Delete)
                .count();
            (nth < count).then(|| first - count + nth)?
        }
        ChangeTag::Equal => return None,
    };
    let other = changes.get(other)?;
    let text = other.value();
    (other.tag() != ChangeTag::Equal && other.tag() != tag)
        .then(|| text.strip_suffix('\n').unwrap_or(text))
}

/// Shows the changed lines with three lines of context.
fn show_diff(shown: &mut String, (old, new): (&str, &str), paint: Paint, columns: usize) {
    let diff = by_lines(old, new);
    for hunk in diff.unified_diff().context_radius(3).iter_hunks() {
        show_text(shown, &hunk.header().to_string(), paint, columns);
        let changes: Vec<_> = hunk.iter_changes().collect();
        for (at, change) in changes.iter().enumerate() {
            let text = change.value();
            let own = text.strip_suffix('\n').unwrap_or(text);
            let short = match (change.tag(), counterpart(&changes, at)) {
                (ChangeTag::Equal, _) => long_line::kept(own),
                (_, Some(other)) => long_line::changed(own, other),
                (_, None) => own.into(),
            };
            let line = format!("{}{}", change.tag(), visible(&short));
            behind_bar(shown, &line, paint, columns, |line| match change.tag() {
                ChangeTag::Delete => paint.red(line),
                ChangeTag::Insert => paint.green(line),
                ChangeTag::Equal => line.to_owned(),
            });
            if !text.ends_with('\n') {
                shown.pop();
                shown.push_str(&format!("{}\n", paint.dim(" (no line end)")));
            }
        }
    }
}
