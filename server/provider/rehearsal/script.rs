//! A validated script. Contradictions in the file cannot be expressed in these types.

use std::{collections::BTreeMap, ops::Range, time::Duration};

use aside_turn::{
    response::{Finish, Usage},
    rules::Model,
};
use toml::Spanned;

use super::{
    file::{FileFault, FileItem, FileModel, FileReply, FileScript, FileWhen},
    item::{ScriptedItem, said},
    pattern::Pattern,
};

/// Maximum size of a script in bytes.
pub(super) const MAX_BYTES: u64 = 4 << 20;
/// Maximum delay: one hour.
const MAX_DELAY_MS: u64 = 3_600_000;

/// A script that can be played.
#[derive(Debug)]
pub(super) struct RehearsalScript {
    pub(super) model: Model,
    pub(super) replies: Vec<ScriptedReply>,
}

/// One reply of the script, with the condition for its requests.
#[derive(Debug)]
pub(super) struct ScriptedReply {
    pub(super) when: ReplyCondition,
    /// Number of times the reply can be played; `None` for no limit.
    pub(super) times: Option<u32>,
    pub(super) content: ReplyContent,
    pub(super) fault: ScriptedFault,
    /// Finish reason; `None` if it follows from the content.
    pub(super) finish: Option<Finish>,
    /// Whether the last item is truncated.
    pub(super) truncate_last: bool,
    pub(super) delay: Duration,
    pub(super) piece_delay: Duration,
    /// Token counts; `None` to estimate them from the characters.
    pub(super) usage: Option<Usage>,
}

/// Condition for requests. `None` matches every request.
#[derive(Debug, Default)]
pub(super) struct ReplyCondition {
    pub(super) turn: Option<u32>,
    pub(super) step: Option<u32>,
    pub(super) user: Option<Pattern>,
    pub(super) attached: Option<Pattern>,
    pub(super) result: Option<ResultCondition>,
    pub(super) directive: Option<Pattern>,
    pub(super) forced: Option<bool>,
    /// Whether the reply is for inquiries only, or for the turn's own requests only.
    pub(super) inquiry: bool,
    pub(super) question: Option<Pattern>,
}

/// Condition for one of the last results.
#[derive(Debug)]
pub(super) struct ResultCondition {
    pub(super) tool: Option<String>,
    pub(super) contains: Option<Pattern>,
}

/// Content of a reply.
#[derive(Debug)]
pub(super) enum ReplyContent {
    Say(Vec<ScriptedItem>),
    /// One answer to all questions of an inquiry.
    Answer(String),
    /// Answers by a substring of the question or of its id.
    Answers(BTreeMap<String, String>),
}

/// A fault to simulate.
#[derive(Debug)]
pub(super) enum ScriptedFault {
    None,
    /// The request is answered with this status in place of a response.
    Status {
        status: u16,
        retry_after: Option<Duration>,
        text: Option<String>,
    },
    /// The stream breaks after this number of pieces.
    Cut(usize),
    /// The stream goes silent after this number of pieces, or before its end.
    Stall(Option<usize>),
}

/// An error in a script, and its line, counted from 1.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ScriptError {
    pub(super) line: usize,
    pub(super) what: String,
}

/// Parses a script.
///
/// # Errors
/// The first error and its line.
pub(super) fn parse(text: &str) -> Result<RehearsalScript, ScriptError> {
    let file: FileScript = toml::from_str(text).map_err(|error| ScriptError {
        line: line_of(text, error.span()),
        what: with_nearest(error.message()),
    })?;
    let replies = file
        .reply
        .into_iter()
        .map(|reply| {
            let span = reply.span();
            // An inner error has its own line; an error of the whole reply has the line where the reply begins.
            self::reply(reply.into_inner()).map_err(|wrong| wrong.broken(text, span))
        })
        .collect::<Result<Vec<_>, _>>()?;
    if replies.is_empty() {
        return Err(ScriptError {
            line: 1,
            what: "there is no [[reply]]; add at least one".into(),
        });
    }
    Ok(RehearsalScript {
        model: model(&file.model),
        replies,
    })
}

/// An error in a reply. `span` is set if it is more precise than the reply itself.
struct WrongReply {
    span: Option<Range<usize>>,
    what: String,
}

impl From<String> for WrongReply {
    fn from(what: String) -> Self {
        Self { span: None, what }
    }
}

impl From<&str> for WrongReply {
    fn from(what: &str) -> Self {
        Self {
            span: None,
            what: what.to_owned(),
        }
    }
}

impl WrongReply {
    fn at(mut self, span: Range<usize>) -> Self {
        self.span.get_or_insert(span);
        self
    }

    fn broken(self, text: &str, reply: Range<usize>) -> ScriptError {
        ScriptError {
            line: line_of(text, self.span.or(Some(reply))),
            what: self.what,
        }
    }
}

fn model(file: &FileModel) -> Model {
    let usual = Model::default();
    Model {
        id: String::new(),
        forces_tools: file.forces_tools.unwrap_or(usual.forces_tools),
        forces_while_reasoning: file
            .forces_while_reasoning
            .unwrap_or(usual.forces_while_reasoning),
        reasoning: file.reasoning.unwrap_or(usual.reasoning),
        reasoning_switches: file.reasoning_switches.unwrap_or(usual.reasoning_switches),
        images: file.images.unwrap_or(usual.images),
        image_bytes: usual.image_bytes,
        documents: file.documents.unwrap_or(usual.documents),
        context_window: file.context_window,
        compacts_at: None,
        compacts_natively: false,
        cache_life: None,
        cache_prices: None,
    }
}

fn reply(file: FileReply) -> Result<ScriptedReply, WrongReply> {
    let times = times(file.once, file.repeat, file.times)?;
    let delay = delay("delay_ms", file.delay_ms)?;
    let piece_delay = self::delay("piece_delay_ms", file.piece_delay_ms)?;
    let fault = fault(file.fault.unwrap_or_default())?;
    let content = content(file.say, file.answer, file.answers)?;
    let answers = !matches!(content, ReplyContent::Say(_));
    Ok(ScriptedReply {
        when: when(file.when, answers)?,
        times,
        content,
        fault,
        finish: file.finish,
        truncate_last: file.truncate_last,
        delay,
        piece_delay,
        usage: file.usage.map(|usage| Usage {
            input: usage.input,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            output: usage.output,
            cost: usage.cost,
            partial: false,
        }),
    })
}

fn times(
    once: Option<bool>,
    repeat: Option<bool>,
    times: Option<u32>,
) -> Result<Option<u32>, WrongReply> {
    match (once, repeat, times) {
        (Some(true), Some(true), _) => Err("`once` and `repeat` contradict each other".into()),
        (Some(false), Some(false), None) => Err("`once` and `repeat` are both false".into()),
        (_, _, Some(0)) => Err("`times` is 0; it must be at least 1".into()),
        (_, Some(true), Some(_)) | (Some(_), _, Some(_)) => {
            Err("`times` cannot be combined with `once` or `repeat`".into())
        }
        (_, _, Some(times)) => Ok(Some(times)),
        (Some(false), _, None) | (_, Some(true), None) => Ok(None),
        _ => Ok(Some(1)),
    }
}

fn delay(key: &str, milliseconds: u64) -> Result<Duration, WrongReply> {
    if milliseconds > MAX_DELAY_MS {
        return Err(format!("`{key}` exceeds one hour ({MAX_DELAY_MS})").into());
    }
    Ok(Duration::from_millis(milliseconds))
}

fn fault(file: FileFault) -> Result<ScriptedFault, WrongReply> {
    let FileFault {
        status,
        retry_after,
        text,
        cut_after,
        stall,
    } = file;
    if let Some(status) = status {
        if cut_after.is_some() || stall {
            return Err(
                "`fault.status` replaces the response; remove `cut_after` and `stall`".into(),
            );
        }
        if !(400..=599).contains(&status) {
            return Err(
                format!("`fault.status` is {status}; it must be between 400 and 599").into(),
            );
        }
        let retry_after = retry_after
            .map(Duration::try_from_secs_f64)
            .transpose()
            .map_err(|_| WrongReply::from("`fault.retry_after` is not a number of seconds"))?;
        return Ok(ScriptedFault::Status {
            status,
            retry_after,
            text,
        });
    }
    if retry_after.is_some() || text.is_some() {
        return Err("`fault.retry_after` and `fault.text` need a `fault.status`".into());
    }
    Ok(match (stall, cut_after) {
        (true, after) => ScriptedFault::Stall(after),
        (false, Some(after)) => ScriptedFault::Cut(after),
        (false, None) => ScriptedFault::None,
    })
}

fn when(file: FileWhen, answers: bool) -> Result<ReplyCondition, WrongReply> {
    let pattern = |text: Option<String>| text.as_deref().map(Pattern::new).transpose();
    let (inquiry, question) = match file.inquiry {
        None => (answers, None),
        Some(value) => match value.get_ref() {
            toml::Value::Boolean(false) if answers => {
                return Err(
                    "`answer` and `answers` are for inquiries; remove `inquiry = false`".into(),
                );
            }
            toml::Value::Boolean(inquiry) => (*inquiry, None),
            toml::Value::String(text) => (true, Some(Pattern::new(text)?)),
            _ => {
                return Err(
                    WrongReply::from("`inquiry` must be a Boolean or a string").at(value.span())
                );
            }
        },
    };
    Ok(ReplyCondition {
        turn: file.turn,
        step: file.step,
        user: pattern(file.user)?,
        attached: pattern(file.attached)?,
        result: match file.result {
            None => None,
            Some(result) => Some(ResultCondition {
                tool: result.tool,
                contains: pattern(result.contains)?,
            }),
        },
        directive: pattern(file.directive)?,
        forced: file.forced,
        inquiry,
        question,
    })
}

fn content(
    say: Vec<Spanned<FileItem>>,
    answer: Option<Spanned<toml::Value>>,
    answers: Option<BTreeMap<String, Spanned<toml::Value>>>,
) -> Result<ReplyContent, WrongReply> {
    let word = |value: Spanned<toml::Value>| {
        let span = value.span();
        answer_text(value.into_inner()).map_err(|wrong| wrong.at(span))
    };
    match (say.is_empty(), answer, answers) {
        (true, Some(answer), None) => Ok(ReplyContent::Answer(word(answer)?)),
        (true, None, Some(answers)) => answers
            .into_iter()
            .map(|(key, value)| Ok((key, word(value)?)))
            .collect::<Result<_, _>>()
            .map(ReplyContent::Answers),
        (_, None, None) => say
            .into_iter()
            .map(|item| {
                let span = item.span();
                said(item.into_inner()).map_err(|what| WrongReply::from(what).at(span))
            })
            .collect::<Result<_, _>>()
            .map(ReplyContent::Say),
        _ => Err("a reply can have only one of `say`, `answer` and `answers`".into()),
    }
}

fn answer_text(value: toml::Value) -> Result<String, WrongReply> {
    match value {
        toml::Value::String(text) => Ok(text),
        toml::Value::Boolean(yes) => Ok(yes.to_string()),
        toml::Value::Integer(number) => Ok(number.to_string()),
        toml::Value::Float(number) => Ok(number.to_string()),
        // Several options are written as a JSON array, like a model's answer.
        toml::Value::Array(options) if options.iter().all(toml::Value::is_str) => {
            Ok(serde_json::json!(options).to_string())
        }
        _ => Err("an answer must be a string, a Boolean, a number or a list of strings".into()),
    }
}

fn line_of(text: &str, span: Option<Range<usize>>) -> usize {
    let start = span.map_or(0, |span| span.start);
    1 + text
        .bytes()
        .take(start)
        .filter(|byte| *byte == b'\n')
        .count()
}

/// Shortens the parser's message: names the most similar key instead of all keys.
fn with_nearest(message: &str) -> String {
    let first = message.lines().next().unwrap_or_default();
    let Some((head, list)) = first.split_once(", expected ") else {
        return first.to_owned();
    };
    if !head.starts_with("unknown ") {
        return first.to_owned();
    }
    let quoted = |text: &str| -> Vec<String> {
        text.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect()
    };
    let wrong = quoted(head).pop().unwrap_or_default();
    let near = quoted(list)
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&wrong, &known), known))
        .min();
    let head = head
        .replace("unknown field", "unknown key")
        .replace("unknown variant", "unknown value");
    match near {
        Some((distance, known)) if distance <= 3 => format!("{head}; did you mean `{known}`?"),
        _ => format!("{head}; expected {list}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_written_as_a_model_writes_them() {
        let check = |value: &str, expected: &str| {
            let file: toml::Table = toml::from_str(&format!("answer = {value}")).unwrap();
            assert_eq!(
                answer_text(file["answer"].clone()).ok().as_deref(),
                Some(expected)
            );
        };
        check("'two words'", "two words");
        check("true", "true");
        check("12", "12");
        check("0.5", "0.5");
        check("['one', 'two']", r#"["one","two"]"#);
        check("[]", "[]");
    }
}
