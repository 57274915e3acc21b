//! Parts of a request that a server refuses by their names: a tool, an image, a document. Pure.
//!
//! A server names a tool by its name or its place among the tools, and an image by the place of its message. An image
//! that is refused without a place may be any of them, so all are left out.

use std::collections::BTreeSet;

use aside_base::digest::sha256;
use aside_turn::{
    inquiry::ANSWER_INQUIRY,
    response::{Failure, FailureClass},
    rules::LeftOut,
    transcript::{Fork, Item},
};
use base64::prelude::{BASE64_STANDARD, Engine as _};
use serde_json::Value;

use super::{
    ToolDeclaration,
    api::RequestContents,
    retry::{ApiError, ErrorContext, Suspicion, said, suspicion},
};

/// Words with which servers speak of the description of a tool.
const OF_TOOLS: [&str; 5] = [
    "schema",
    "parameter",
    "declaration",
    "properties",
    "description",
];
/// Members that list tools, the innermost first.
const TOOL_LISTS: [&str; 3] = ["function_declarations", "functiondeclarations", "tools"];
/// Words with which servers speak of images and documents.
const OF_MEDIA: [&str; 7] = [
    "image",
    "pdf",
    "document",
    "media",
    "inline_data",
    "inlinedata",
    "file_data",
];
/// Members that list the messages of a conversation.
const MESSAGE_LISTS: [&str; 3] = ["messages", "input", "contents"];

/// Parts that a server refused.
#[derive(Debug, PartialEq)]
pub(super) struct RefusedParts {
    pub(super) parts: Vec<LeftOut>,
    /// The parts in words.
    pub(super) what: String,
    /// Advice for them.
    pub(super) next: &'static str,
}

impl RefusedParts {
    /// The failure of the request, after which it is sent without them.
    pub(super) fn failure(self, error: &ApiError, who: &ErrorContext<'_>) -> Failure {
        let said = match (said(error), error.status) {
            (said, Some(status)) if said.is_empty() => format!("HTTP status {status}"),
            (said, _) => said,
        };
        let Self { parts, what, next } = self;
        Failure {
            class: FailureClass::RefusedParts(parts),
            text: format!("{}: {} does not take {what} ({said})", who.model, who.host),
            advice: Some(next.to_owned()),
            retry_after: None,
        }
    }
}

/// The parts that an error names, if it refuses parts of the request. `body` is the request as it was sent.
pub(super) fn refused_parts(
    error: &ApiError,
    ask: &RequestContents<'_>,
    transcript: &Fork,
    body: impl FnOnce() -> Value,
) -> Option<RefusedParts> {
    let suspicion = suspicion(error);
    let said = format!("{} {}", error.param, error.message);
    if let Suspicion::Part { strict } = suspicion
        && let Some(tool) = named_tool(&said.to_lowercase(), &ask.tools())
        && tool.name != ANSWER_INQUIRY
        // A tool that is held to its schema is sent without that first.
        && !(strict || tool.strict && ask.takes_strict())
    {
        return Some(RefusedParts {
            what: format!("the tool {}", tool.name),
            parts: vec![LeftOut::Tool(tool.name.clone())],
            next: "correct its description, or turn the tool off",
        });
    }
    let known = sent_media(transcript, ask);
    let named = match suspicion {
        _ if known.is_empty() => return None,
        Suspicion::Part { .. } if speaks_of_media(&said) => placed(&body(), &said),
        Suspicion::Size => BTreeSet::new(),
        _ => return None,
    };
    let is_named = |blob: &str| named.is_empty() || named.contains(blob);
    let refused = known.iter().filter(|(blob, _)| is_named(blob));
    let (blobs, names): (BTreeSet<&str>, BTreeSet<&str>) = refused.copied().unzip();
    if blobs.is_empty() {
        return None;
    }
    let part = |blob: &str| LeftOut::Media(blob.to_owned());
    Some(RefusedParts {
        parts: blobs.into_iter().map(part).collect(),
        what: names.into_iter().collect::<Vec<_>>().join(", "),
        next: "attach smaller or other ones",
    })
}

/// The tool whose description an error speaks of, if it names one.
fn named_tool<'a>(says: &str, tools: &[&'a ToolDeclaration]) -> Option<&'a ToolDeclaration> {
    // A choice of a tool is none of its description.
    if says.contains("tool_choice") || says.contains("callingconfig") {
        return None;
    }
    if let Some(place) = TOOL_LISTS.iter().find_map(|list| place_in(says, list)) {
        return tools.get(place).copied();
    }
    if !OF_TOOLS.iter().any(|word| says.contains(word)) {
        return None;
    }
    let mentioned = tools
        .iter()
        .filter_map(|tool| Some((mention(says, &tool.name.to_lowercase())?, *tool)));
    mentioned.min_by_key(|(at, _)| *at).map(|(_, tool)| tool)
}

/// The index that follows the name of a list: `tools[3]` or `tools.3`.
fn place_in(says: &str, list: &str) -> Option<usize> {
    says.match_indices(list).find_map(|(at, _)| {
        let rest = says[at + list.len()..].strip_prefix(['[', '.'])?;
        let digits = rest.find(|char: char| !char.is_ascii_digit());
        rest[..digits.unwrap_or(rest.len())].parse().ok()
    })
}

/// The place at which a text mentions a name as a whole word.
fn mention(says: &str, name: &str) -> Option<usize> {
    let of_name = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    says.match_indices(name)
        .map(|(at, _)| at)
        .find(|at| !says[..*at].ends_with(of_name) && !says[at + name.len()..].starts_with(of_name))
}

fn speaks_of_media(said: &str) -> bool {
    let words = said
        .split(|char: char| !(char.is_ascii_alphanumeric() || char == '_'))
        .map(str::to_lowercase);
    words.into_iter().any(|word| {
        let one = word.strip_suffix('s').unwrap_or(&word);
        OF_MEDIA.contains(&one) || one.starts_with("image_")
    })
}

/// The images and documents that were sent: their blobs and names.
fn sent_media<'a>(transcript: &'a Fork, ask: &RequestContents<'_>) -> Vec<(&'a str, &'a str)> {
    let attached = transcript.items().into_iter().flat_map(Item::attachments);
    let (images, documents) = (
        ask.options.abilities.images,
        ask.options.abilities.documents,
    );
    let sent = attached.filter_map(|attachment| {
        let media = attachment.media()?;
        let left_out = ask.leaves_out(&LeftOut::Media(media.blob.clone()));
        let sent = media.media_type.is_taken_by(images, documents) && !left_out;
        sent.then_some((media.blob.as_str(), attachment.name.as_str()))
    });
    sent.collect()
}

/// The blobs of what stands at the place of the body that an error names. Empty if it names none.
fn placed(body: &Value, said: &str) -> BTreeSet<String> {
    let mut blobs = BTreeSet::new();
    let places = MESSAGE_LISTS
        .iter()
        .flat_map(|list| said.match_indices(list));
    for (at, list) in places {
        if let Some(value) = body
            .get(list)
            .and_then(|value| walk(value, &said[at + list.len()..]))
        {
            collect(value, &mut blobs);
        }
    }
    blobs
}

/// Follows a path such as `[1].content[0].image_url` as far as the value goes. `None` if it names no element.
fn walk<'a>(list: &'a Value, path: &str) -> Option<&'a Value> {
    let mut value = list;
    let end = path.find(|char: char| !(char.is_ascii_alphanumeric() || "._[]".contains(char)));
    let path = &path[..end.unwrap_or(path.len())];
    let mut steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    value = value.get(steps.next()?.parse::<usize>().ok()?)?;
    for step in steps {
        let next = match step.parse::<usize>() {
            Ok(index) => value.get(index),
            Err(_) => value.get(step),
        };
        // Some APIs put the type of a block into its path.
        value = next.unwrap_or(value);
    }
    Some(value)
}

/// Collects the digests of all that is base64 in a value.
fn collect(value: &Value, blobs: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => {
            let data = text
                .split_once(";base64,")
                .map_or(&**text, |(_, data)| data);
            if let Ok(bytes) = BASE64_STANDARD.decode(data) {
                blobs.insert(sha256(&bytes));
            }
        }
        Value::Array(all) => all.iter().for_each(|one| collect(one, blobs)),
        Value::Object(all) => all.values().for_each(|one| collect(one, blobs)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use aside_test_table::rows;
    use serde_json::json;

    use super::*;
    use crate::{
        abilities::Abilities,
        trial::{ProviderTrial, options},
    };

    fn tool(name: &str) -> ToolDeclaration {
        ToolDeclaration {
            name: name.into(),
            description: String::new(),
            parameters: json!({"type": "object"}),
            strict: name == "edit_file",
        }
    }

    /// Errors, as a parameter and a message, and the tool that is left out.
    const ERRORS: &str = "
        s__echo   | tools[0].function.parameters | Invalid schema for function 's__echo': In context=('properties', 'a'), array schema missing items.
        s__echo   | -                            | Invalid schema for function 's__echo': In context=('properties', 'reasoning'), strange.
        s__echo_2 | -                            | Invalid schema for function 's__echo_2'.
        s__echo_2 | -                            | tools.1.custom.input_schema: JSON schema is invalid
        s__echo_2 | -                            | GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[a].items: missing field.
        search    | -                            | the description of `search` is too long
        -         | -                            | research in the schema is not supported
        -         | tools[7].function            | Invalid.
        -         | -                            | tools.2.custom.strict: Extra inputs are not permitted
        -         | -                            | Invalid schema for function 'edit_file': no.
        -         | -                            | Invalid schema for function 'answer_inquiry': no.
        -         | tool_choice                  | The function s__echo of the schema cannot be forced
        -         | -                            | Function call `s__echo` is missing a thought_signature in functionCall parts
        -         | -                            | No tool output found for function call search.
        -         | -                            | prompt is too long: the schema of s__echo
    ";

    #[test]
    fn a_tool_is_known_by_its_name_or_its_place() {
        let names = [
            "s__echo",
            "s__echo_2",
            "edit_file",
            "search",
            ANSWER_INQUIRY,
        ];
        let tools = names.iter().map(|name| tool(name)).collect();
        let trial = ProviderTrial::new(options("a/m", Abilities::default()), "", tools);
        for [expected, param, message] in rows(ERRORS) {
            let error = ApiError {
                status: Some(400),
                param: param.replace('-', ""),
                message: message.into(),
                ..ApiError::default()
            };
            let fork = trial.transcript.fork();
            let refused = refused_parts(&error, &trial.ask(), &fork, || Value::Null);
            let part = refused.map_or("-".into(), |refused| refused.parts[0].name().to_owned());
            assert_eq!(part, expected, "{param} {message}");
            let busy = ApiError {
                status: Some(429),
                ..error
            };
            let refused = refused_parts(&busy, &trial.ask(), &fork, || Value::Null);
            assert_eq!(refused, None, "{message}");
        }
    }

    #[test]
    fn an_image_is_known_by_its_place() {
        let data = BASE64_STANDARD.encode("picture");
        let blob = sha256(b"picture");
        let part = json!({"type": "image", "source": {"type": "base64", "data": data}});
        let url = json!({"image_url": {"url": format!("data:image/png;base64,{data}")}});
        let body = json!({"messages": [
            {"content": [{"text": "no base64!"}, part]},
            {"content": [url]},
        ]});
        for said in [
            "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum",
            "messages[1].content[0].image_url: invalid",
            "in messages[1]: an image",
        ] {
            assert_eq!(placed(&body, said), [blob.clone()].into(), "{said}");
        }
        for said in [
            "an image",
            "messages.9: image",
            "messages: image",
            "input[0]: image",
        ] {
            assert_eq!(placed(&body, said), BTreeSet::new(), "{said}");
        }
        assert!(speaks_of_media("The image is bad.") && speaks_of_media("Bad PDFs: 3"));
        assert!(!speaks_of_media("See the documentation, or imagine."));
    }
}
