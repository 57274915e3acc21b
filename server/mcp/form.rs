//! Converts forms of servers to questions, and answers to replies. Pure.

use aside_base::visible::without_hidden;
use aside_turn::{
    question::{Answer, AnswerType, Question, TextFormat},
    record::{Permission, Vocabulary},
};
use serde_json::{Map, Value, json};

use self::fishing::{asks_for_secret, squeezed};

mod fishing;

/// Maximum length in bytes of a text in a form.
const MAX_TEXT: usize = 2048;
/// Maximum number of fields in a form.
const MAX_FIELDS: usize = 32;
/// Answers of Aside's own prompts, which no form may seem to be.
const RESERVED: &[Permission] = Permission::ALL;
/// Keys that a person types at those prompts.
const KEYS: &[&str] = &["a", "n", "o", "t", "v", "y"];

/// A form of a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Form {
    fields: Vec<FormField>,
    /// Whether the form has no fields and only asks to be accepted.
    is_confirmation: bool,
}

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
struct FormField {
    name: String,
    question: Question,
    /// Each option as shown, and the value to send for it.
    options: Vec<(String, Value)>,
}

/// Reason why a form is shown to nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FormFault {
    /// The form asks for a secret in this field.
    Secret(String),
    /// The form is of an unsupported kind, for this reason.
    Unknown(String),
}

impl Form {
    /// Reads the params of `elicitation/create`. The ids of its questions begin with `key`.
    pub(super) fn read(params: &Value, key: &str) -> Result<Self, FormFault> {
        let unknown = |why: &str| Err(FormFault::Unknown(why.to_owned()));
        if !matches!(params["mode"].as_str(), None | Some("form")) {
            return unknown("it asks to open a URL instead of showing a form");
        }
        let message = clean(params["message"].as_str().unwrap_or_default());
        let schema = &params["requestedSchema"];
        let empty = Map::new();
        let properties = schema["properties"].as_object().unwrap_or(&empty);
        if properties.len() > MAX_FIELDS {
            return unknown("it has more than 32 fields");
        }
        let required: Vec<&str> = match schema["required"].as_array() {
            Some(names) => names.iter().filter_map(Value::as_str).collect(),
            None => Vec::new(),
        };
        if properties.is_empty() {
            let question = Question::new(format!("{key}.accept"), message, AnswerType::Boolean);
            let field = FormField {
                name: String::new(),
                question: exclusive(question),
                options: Vec::new(),
            };
            return Ok(Self {
                fields: vec![field],
                is_confirmation: true,
            });
        }
        let of_form = FormHead {
            key,
            message: &message,
            is_single: properties.len() == 1,
        };
        let fields = properties
            .iter()
            .map(|(name, schema)| of_form.field(name, schema, required.contains(&name.as_str())));
        Ok(Self {
            fields: fields.collect::<Result<_, _>>()?,
            is_confirmation: false,
        })
    }

    /// The questions, in the order of the form.
    pub(super) fn questions(&self) -> impl Iterator<Item = &Question> {
        self.fields.iter().map(|field| &field.question)
    }

    /// Builds the reply from one answer for each question. For a form without fields, an answer of no declines.
    pub(super) fn reply(&self, answers: &[Value]) -> Value {
        if self.is_confirmation {
            return match answers.first() {
                Some(Value::Bool(true)) => json!({"action": "accept", "content": {}}),
                _ => json!({"action": "decline"}),
            };
        }
        let mut content = Map::new();
        for (field, answer) in self.fields.iter().zip(answers) {
            let sent = |shown: &Value| {
                let option = field.options.iter().find(|(text, _)| shown == text);
                option.map_or_else(|| shown.clone(), |(_, sent)| sent.clone())
            };
            let value = match answer {
                Value::Null => continue,
                Value::Array(chosen) => chosen.iter().map(sent).collect(),
                one => sent(one),
            };
            content.insert(field.name.clone(), value);
        }
        json!({"action": "accept", "content": content})
    }
}

/// Common properties of a form's fields.
struct FormHead<'a> {
    key: &'a str,
    message: &'a str,
    is_single: bool,
}

impl FormHead<'_> {
    fn field(&self, name: &str, schema: &Value, is_required: bool) -> Result<FormField, FormFault> {
        let title = schema["title"].as_str().unwrap_or(name);
        if asks_for_secret(self.message, name, schema) {
            return Err(FormFault::Secret(clean(title)));
        }
        let (answer_type, options) = answer_type(schema).ok_or_else(|| {
            FormFault::Unknown(format!(
                "its field `{}` has an unsupported type",
                clean(name)
            ))
        })?;
        let about = clean(schema["description"].as_str().unwrap_or_default());
        let title = clean(title);
        let (text, above) = match self.is_single {
            true => (self.message.to_owned(), vec![title, about]),
            false => (title, vec![self.message.to_owned(), about]),
        };
        let above: Vec<String> = above.into_iter().filter(|it| !it.is_empty()).collect();
        let shown = |sent: &Value| {
            let option = options.iter().find(|(_, it)| it == sent);
            option.map_or_else(|| sent.clone(), |(text, _)| text.as_str().into())
        };
        let default = match &schema["default"] {
            Value::Null => None,
            Value::Array(chosen) => Some(chosen.iter().map(shown).collect()),
            one => Some(shown(one)),
        };
        let mut question = Question::new(format!("{}.{name}", self.key), text, answer_type);
        question.context = (!above.is_empty()).then(|| above.join("\n"));
        question.optional = !is_required;
        question.default = default.filter(|default| question.accept(default).is_ok());
        Ok(FormField {
            name: name.to_owned(),
            question: exclusive(question),
            options,
        })
    }
}

/// The answer type of a field, and the value to send for each option that is shown.
fn answer_type(schema: &Value) -> Option<(AnswerType, Vec<(String, Value)>)> {
    let count = |key: &str| schema[key].as_u64().and_then(|it| u32::try_from(it).ok());
    let number = |key: &str| schema[key].as_number().cloned();
    let plain = |answer_type| Some((answer_type, Vec::new()));
    match schema["type"].as_str()? {
        "boolean" => plain(AnswerType::Boolean),
        kind @ ("number" | "integer") => plain(AnswerType::Number {
            integer: kind == "integer",
            minimum: number("minimum"),
            maximum: number("maximum"),
        }),
        "string" => match choices(schema) {
            Some(choices) => {
                let options = choices.iter().map(|(shown, _)| shown.clone()).collect();
                Some((AnswerType::Select { options }, choices))
            }
            None => plain(AnswerType::Text {
                minimum: count("minLength"),
                maximum: count("maxLength"),
                format: serde_json::from_value::<TextFormat>(schema["format"].clone()).ok(),
            }),
        },
        "array" => {
            let choices = choices(&schema["items"])?;
            let options = choices.iter().map(|(shown, _)| shown.clone()).collect();
            let answer_type = AnswerType::MultiSelect {
                options,
                minimum: count("minItems"),
                maximum: count("maxItems"),
            };
            Some((answer_type, choices))
        }
        _ => None,
    }
}

/// Options of a select: each as shown, and the value to send for it.
fn choices(schema: &Value) -> Option<Vec<(String, Value)>> {
    let list = |key: &str| schema[key].as_array();
    let mut options: Vec<(String, Value)> = if let Some(values) = list("enum") {
        let names = list("enumNames");
        let name = |at: usize| names.and_then(|names| names.get(at)?.as_str());
        let values = values.iter().enumerate();
        let option = |(at, value): (usize, &Value)| {
            Some((clean(name(at).or(value.as_str())?), value.clone()))
        };
        values.map(option).collect::<Option<_>>()?
    } else {
        let titled = list("oneOf").or_else(|| list("anyOf"))?;
        let option = |it: &Value| {
            let title = it["title"].as_str().or(it["const"].as_str())?;
            Some((clean(title), it["const"].clone()))
        };
        titled.iter().map(option).collect::<Option<_>>()?
    };
    let titles: Vec<String> = options.iter().map(|(shown, _)| shown.clone()).collect();
    for (shown, sent) in &mut options {
        let same = titles.iter().filter(|title| *title == shown).count();
        if is_reserved(shown) {
            *shown = format!("{shown} (for the server)");
        }
        if same > 1 {
            *shown = format!("{shown} ({})", clean(sent.as_str().unwrap_or_default()));
        }
    }
    Some(options)
}

fn exclusive(mut question: Question) -> Question {
    question.exclusive = true;
    question
}

/// Whether an option could be taken for an answer to a prompt of Aside's, such as `always`, also behind a number, or for
/// what a person types there: a key, a decline, or that nothing is answered.
fn is_reserved(shown: &str) -> bool {
    let words = shown.split(|c: char| !c.is_alphabetic());
    let mut words = words.map(squeezed).filter(|word| !word.is_empty());
    let only = words.next().filter(|_| words.next().is_none());
    let is_one = |word: &String| RESERVED.iter().any(|of| squeezed(of.word()) == *word);
    let is_key = |word: &String| KEYS.contains(&word.as_str());
    only.as_ref().is_some_and(|it| is_one(it) || is_key(it))
        || is_one(&squeezed(shown))
        || shown.starts_with('!')
        || shown == "-"
}

/// A server's text without hidden characters and of limited length.
pub(super) fn clean(text: &str) -> String {
    let text = without_hidden(text.trim());
    text[..text.floor_char_boundary(MAX_TEXT)].to_owned()
}

/// The answers to these questions, or the first question without one. The latest answer counts.
pub(super) fn answers_to<'a>(
    questions: impl Iterator<Item = &'a Question>,
    given: &[(String, Answer)],
) -> Result<Vec<Value>, &'a Question> {
    questions
        .map(|question| {
            let answer = given.iter().rev().find(|(id, _)| *id == question.id);
            let value = answer.and_then(|(_, answer)| answer.value().cloned());
            value.ok_or(question)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value, required: &[&str]) -> Result<Form, FormFault> {
        let schema = json!({"type": "object", "properties": properties, "required": required});
        Form::read(
            &json!({"message": "Fill in.", "requestedSchema": schema}),
            "k",
        )
    }

    #[test]
    fn each_field_kind_becomes_a_question_and_a_value() {
        let read = form(
            json!({
                "b": {"type": "boolean", "default": false},
                "e": {"type": "string", "enum": ["a", "b"], "enumNames": ["B", "B"]},
                "t": {"type": "string", "oneOf": [{"const": "#F00", "title": "Red"}], "default": "#F00"},
                "s": {"type": "string", "title": "Name", "description": "Yours.", "minLength": 1, "format": "email"},
                "n": {"type": "integer", "minimum": 0, "maximum": 9},
                "m": {"type": "array", "minItems": 1, "items": {"anyOf": [{"const": "x", "title": "X"}, {"const": "y", "title": "Z"}]}},
                "o": {"type": "number"},
            }),
            &["b", "e", "t", "s", "n", "m"],
        )
        .unwrap();
        let questions: Vec<&Question> = read.questions().collect();
        for question in &questions {
            assert_eq!(question.check(), Ok(()), "{question:?}");
            assert!(question.exclusive);
        }
        let options = |at: usize| match &questions[at].answer_type {
            AnswerType::Select { options } | AnswerType::MultiSelect { options, .. } => {
                options.clone()
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(options(1), ["B (a)", "B (b)"]);
        assert_eq!(options(5), ["X", "Z"]);
        assert_eq!(questions[2].default, Some("Red".into()));
        assert_eq!(questions[3].text, "Name");
        assert_eq!(questions[3].context.as_deref(), Some("Fill in.\nYours."));
        assert!(questions[6].optional && !questions[5].optional);
        let answers = [
            json!(true),
            json!("B (b)"),
            json!("Red"),
            json!("a@b.c"),
            json!(3),
            json!(["Z"]),
            Value::Null,
        ];
        assert_eq!(
            read.reply(&answers),
            json!({"action": "accept", "content":
                {"b": true, "e": "b", "t": "#F00", "s": "a@b.c", "n": 3, "m": ["y"]}})
        );
    }

    #[test]
    fn single_field_forms_ask_with_their_message() {
        let read = form(json!({"value": {"type": "string"}}), &["value"]).unwrap();
        let question = read.questions().next().unwrap();
        assert_eq!(
            (question.id.as_str(), question.text.as_str()),
            ("k.value", "Fill in.")
        );
    }

    #[test]
    fn forms_without_fields_are_accepted_or_declined() {
        let read = form(json!({}), &[]).unwrap();
        assert_eq!(read.questions().count(), 1);
        assert_eq!(read.reply(&[json!(true)])["action"], "accept");
        assert_eq!(read.reply(&[json!(false)])["action"], "decline");
    }

    #[test]
    fn forms_with_a_secret_field_are_refused() {
        let harmless = json!({"type": "string"});
        let asks = |field: Value| {
            let read = form(json!({"first": harmless, "x": field}), &[]);
            matches!(read, Err(FormFault::Secret(_)))
        };
        assert!(!asks(json!({"type": "string"})));
        assert!(asks(json!({"type": "string", "title": "API key"})));
        assert!(asks(
            json!({"type": "string", "description": "Your Passwort."})
        ));
        let message = json!({"message": "Your GitHub password, please.",
            "requestedSchema": {"properties": {"value": {"type": "string"}}}});
        let read = Form::read(&message, "k");
        assert!(matches!(read, Err(FormFault::Secret(_))), "{read:?}");
    }

    #[test]
    fn options_are_not_those_of_aside_s_own_prompts() {
        let options = |all: Value| {
            let read = form(json!({"x": {"type": "string", "enum": all}}), &[]).unwrap();
            match &read.questions().next().unwrap().answer_type {
                AnswerType::Select { options } => options.join(", "),
                other => panic!("{other:?}"),
            }
        };
        assert_eq!(
            options(json!([
                "once",
                "Turn",
                "3. always",
                "n\u{43e}",
                "now",
                "yes"
            ])),
            "once (for the server), Turn (for the server), 3. always (for the server), \
             n\u{43e} (for the server), now, yes"
        );
        assert_eq!(
            options(json!([
                "y", "2. N", "\u{443}", "!", "!no", "-", "x", "0", "v2 y", "-1"
            ])),
            "y (for the server), 2. N (for the server), \u{443} (for the server), ! (for the server), \
             !no (for the server), - (for the server), x, 0, v2 y, -1"
        );
    }

    #[test]
    fn invalid_forms_are_rejected() {
        let url = json!({"mode": "url", "message": "Open.", "url": "https://example.com"});
        assert!(matches!(Form::read(&url, "k"), Err(FormFault::Unknown(_))));
        let nested = form(json!({"x": {"type": "object"}}), &[]);
        assert!(matches!(nested, Err(FormFault::Unknown(_))));
    }
}
