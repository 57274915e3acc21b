//! Questions as forms: the request and the reading of the client's answer. Pure.
//!
//! Some clients preselect the first option of a required choice and send an unticked box as `false`. So no choice is
//! required, and no question is a box: an untouched form contains no answer and is shown again.

use agent_client_protocol_schema::v1::{
    BooleanPropertySchema, CreateElicitationRequest, ElicitationFormMode,
    ElicitationPropertySchema, ElicitationSchema, ElicitationSessionScope, EnumOption,
    IntegerPropertySchema, MultiSelectPropertySchema, NumberPropertySchema, SessionId,
    StringFormat, StringPropertySchema, ToolCallId,
};
use aside_base::visible::visible;
use aside_turn::{
    input::{PromptAnswer, SecretValue},
    question::{AnswerType, TextFormat},
};
use serde_json::{Number, Value};

use crate::front::wire::Prompt;

/// Property for the answer.
const ANSWER: &str = "answer";
/// Property for remembering the answer.
const REMEMBER: &str = "remember";
/// Words for a boolean answer.
const YES: &str = "yes";
const NO: &str = "no";

/// The form for a prompt; `None` if a form must not ask it. `call` is the client's id of the call, if it has one.
pub(super) fn request(
    session: &SessionId,
    call: Option<&str>,
    prompt: &Prompt,
) -> Option<CreateElicitationRequest> {
    let (property, is_required) = property(prompt)?;
    let mut schema = ElicitationSchema::new().property(ANSWER, property, is_required);
    if prompt.remember {
        let remember = BooleanPropertySchema::new()
            .title("For the rest of this turn")
            .default_value(false);
        schema = schema.property(REMEMBER, remember, false);
    }
    let mut scope = ElicitationSessionScope::new(session.clone());
    if let Some(call) = call {
        scope = scope.tool_call_id(ToolCallId::new(call));
    }
    let form = ElicitationFormMode::new(scope, schema);
    Some(CreateElicitationRequest::new(form, message(prompt)))
}

/// Reads the client's answer. An unreadable answer is a failure of the client and never a person's decision.
pub(super) fn read(prompt: &Prompt, reply: Result<Value, String>) -> PromptAnswer {
    let mut reply = match reply {
        Ok(reply) => reply,
        Err(why) => return PromptAnswer::Failed(why),
    };
    match reply.get("action").and_then(Value::as_str) {
        Some("decline") => return PromptAnswer::Decline { note: None },
        Some("cancel") => return PromptAnswer::Cancel,
        Some("accept") => {}
        _ => return PromptAnswer::Failed("the client's reply is no answer".into()),
    }
    let content = reply.get_mut("content").map(Value::take);
    let mut content = content.unwrap_or_default();
    let remember = content.get(REMEMBER) == Some(&Value::Bool(true));
    let value = content.get_mut(ANSWER).map(Value::take).unwrap_or_default();
    PromptAnswer::Answer {
        value: SecretValue(answer(prompt, value)),
        remember: remember && prompt.remember,
        new_text: None,
    }
}

/// Converts the value to the prompt's type. The turn checks whether it fits.
fn answer(prompt: &Prompt, value: Value) -> Value {
    match (&prompt.answer_type, &value) {
        (AnswerType::Boolean, Value::String(word)) if word == YES => true.into(),
        (AnswerType::Boolean, Value::String(word)) if word == NO => false.into(),
        // An empty field or list was left out.
        (_, Value::String(text)) if prompt.optional && text.is_empty() => Value::Null,
        (_, Value::Array(chosen)) if chosen.is_empty() => Value::Null,
        _ => value,
    }
}

fn message(prompt: &Prompt) -> String {
    let mut message = prompt.label.clone();
    if prompt.position.of > 1 {
        let position = prompt.position;
        message += &format!(" ({} of {})", position.n, position.of);
    }
    message.push('\n');
    if let Some(context) = &prompt.context {
        message += context;
        message += "\n\n";
    }
    message += &prompt.text;
    visible(&message).into_owned()
}

/// The property for the answer, and whether the form requires it.
fn property(prompt: &Prompt) -> Option<(ElicitationPropertySchema, bool)> {
    let default = prompt.default.as_ref();
    let title = "Answer";
    let property = match &prompt.answer_type {
        AnswerType::Boolean => {
            let word = |yes: bool| if yes { YES } else { NO }.to_owned();
            let options = vec![EnumOption::new(YES, "Yes"), EnumOption::new(NO, "No")];
            let choice = StringPropertySchema::new().title(title).one_of(options);
            let default = default.and_then(Value::as_bool).map(word);
            return Some((choice.default_value(default).into(), false));
        }
        AnswerType::Select { options } => {
            let choice = StringPropertySchema::new()
                .title(title)
                .one_of(choices(options))
                .default_value(text_of(default));
            return Some((choice.into(), false));
        }
        AnswerType::MultiSelect {
            options,
            minimum,
            maximum,
        } => {
            let least = minimum.unwrap_or_default();
            let list = MultiSelectPropertySchema::titled(choices(options))
                .title(title)
                .min_items(u64::from(if prompt.optional {
                    least
                } else {
                    least.max(1)
                }))
                .max_items(maximum.map(u64::from))
                .default_value(list_of(default));
            return Some((list.into(), false));
        }
        AnswerType::Number {
            integer,
            minimum,
            maximum,
        } => number(*integer, minimum.as_ref(), maximum.as_ref(), default),
        AnswerType::Text {
            minimum,
            maximum,
            format,
        } => {
            let least = minimum.unwrap_or_default();
            StringPropertySchema::new()
                .title(title)
                .min_length(if prompt.optional { least } else { least.max(1) })
                .max_length(*maximum)
                .format(format.map(format_of))
                .default_value(text_of(default))
                .into()
        }
        // A secret must not be asked for in a form.
        AnswerType::Secret => return None,
    };
    Some((property, !prompt.optional))
}

fn number(
    integer: bool,
    minimum: Option<&Number>,
    maximum: Option<&Number>,
    default: Option<&Value>,
) -> ElicitationPropertySchema {
    let float = |number: Option<&Number>| number.and_then(Number::as_f64);
    if !integer {
        return NumberPropertySchema::new()
            .title("Answer")
            .minimum(float(minimum))
            .maximum(float(maximum))
            .default_value(default.and_then(Value::as_f64))
            .into();
    }
    // A fractional bound is rounded inwards.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is beyond is as good as no bound"
    )]
    let whole = |number: Option<&Number>, inside: fn(f64) -> f64| {
        number.and_then(|it| it.as_i64().or_else(|| Some(inside(it.as_f64()?) as i64)))
    };
    IntegerPropertySchema::new()
        .title("Answer")
        .minimum(whole(minimum, f64::ceil))
        .maximum(whole(maximum, f64::floor))
        .default_value(default.and_then(Value::as_i64))
        .into()
}

fn choices(options: &[String]) -> Vec<EnumOption> {
    let choice = |option: &String| EnumOption::new(option.clone(), visible(option));
    options.iter().map(choice).collect()
}

fn text_of(value: Option<&Value>) -> Option<String> {
    value.and_then(Value::as_str).map(str::to_owned)
}

fn list_of(value: Option<&Value>) -> Option<Vec<String>> {
    let list = value?.as_array()?.iter();
    list.map(|it| it.as_str().map(str::to_owned)).collect()
}

fn format_of(format: TextFormat) -> StringFormat {
    match format {
        TextFormat::Email => StringFormat::Email,
        TextFormat::Uri => StringFormat::Uri,
        TextFormat::Date => StringFormat::Date,
        TextFormat::DateTime => StringFormat::DateTime,
    }
}
