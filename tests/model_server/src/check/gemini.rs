//! Gemini generateContent.

use serde_json::Value;

use super::schema::{self, SchemaSubset};
use super::shape::shapes;
use super::{
    CheckFindings, CheckRule, CheckedRequest, EarlierReplies, elements, media, seen, text, tools,
};

pub(super) const RULES: &[CheckRule] = &[
    members,
    generation,
    answer_schema,
    contents,
    parts,
    pairing,
    signatures,
    tool_members,
    tool_config,
    cached,
];

/// The generation of a model, such as 3.1; 0 when its name does not tell.
fn generation_of(model: &str) -> f64 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let number = name
        .strip_prefix("gemini-")
        .and_then(|rest| rest.split('-').next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0.0)
}

/// The members of a request, and of its parts.
const MEMBERS: &str = "
    | contents:array | systemInstruction:object tools:array toolConfig:object generationConfig:object \
        safetySettings:array cachedContent:string serviceTier continuationToken:string
    /systemInstruction | parts:array | role:string
    /generationConfig | | maxOutputTokens:integer stopSequences:array temperature:number topP:number topK:number \
        seed:integer candidateCount:integer responseMimeType:string responseJsonSchema:object \
        responseSchema:object thinkingConfig:object mediaResolution:string
    /generationConfig/thinkingConfig | | includeThoughts:bool thinkingLevel=MINIMAL,LOW,MEDIUM,HIGH,XHIGH thinkingBudget:integer
    /contents/* | role=user,model parts:array |
    /contents/*/parts/* | | text:string inlineData:object fileData:object functionCall:object functionResponse:object \
        executableCode:object codeExecutionResult:object toolCall:object toolResponse:object thought:bool \
        thoughtSignature:string partMetadata:object
    /contents/*/parts/*/functionCall | name:string | id:string args:object
    /contents/*/parts/*/functionResponse | name:string response:object | id:string parts:array
    /tools/*/functionDeclarations/* | name:string | description:string parametersJsonSchema:object parameters:object behavior:string
    /toolConfig/functionCallingConfig | | mode=AUTO,ANY,NONE,VALIDATED allowedFunctionNames:array
";

fn members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    shapes(found, request.body, MEMBERS);
}

fn generation(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let Some(config) = request.body.get("generationConfig") else {
        return;
    };
    let place = "/generationConfig";
    let generation = generation_of(request.model);
    for name in ["temperature", "topP", "topK"]
        .into_iter()
        .filter(|name| config.get(name).is_some())
    {
        if generation >= 3.5 {
            found.say(
                place,
                format_args!("{} does not take `{name}`", request.model),
            );
        }
    }
    let Some(thinking) = config.get("thinkingConfig") else {
        return;
    };
    let foreign = if generation >= 3.0 {
        "thinkingBudget"
    } else {
        "thinkingLevel"
    };
    if generation > 0.0 && thinking.get(foreign).is_some() {
        let what = format_args!("{} does not take `{foreign}`", request.model);
        found.say("/generationConfig/thinkingConfig", what);
    }
}

fn answer_schema(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let config = &request.body["generationConfig"];
    let place = "/generationConfig";
    let (json, open) = (
        config.get("responseJsonSchema"),
        config.get("responseSchema"),
    );
    if json.is_some() && open.is_some() {
        found.say(
            place,
            "`responseSchema` and `responseJsonSchema` exclude each other",
        );
    }
    if json.or(open).is_none() {
        return;
    }
    if config["responseMimeType"] != "application/json" {
        found.say(
            place,
            "a schema needs the `responseMimeType` application/json",
        );
    }
    let generation = generation_of(request.model);
    if generation > 0.0 && generation < 3.0 && request.body.get("tools").is_some() {
        found.say(
            place,
            format_args!("{} does not take tools beside a schema", request.model),
        );
    }
    if let Some(schema) = json {
        schema::strict(
            found,
            "/generationConfig/responseJsonSchema",
            schema,
            SchemaSubset::Gemini,
        );
    }
    if let Some(schema) = open {
        schema::no_const(found, "/generationConfig/responseSchema", schema);
    }
}

fn contents(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, content) in elements("/contents", &request.body["contents"]) {
        if content["parts"].as_array().is_some_and(Vec::is_empty) {
            found.say(&place, "there are no parts");
        }
    }
}

/// What a part may hold, exactly one of it.
const KINDS: [&str; 9] = [
    "text",
    "inlineData",
    "fileData",
    "functionCall",
    "functionResponse",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
];

fn parts(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    for (place, content) in elements("/contents", &request.body["contents"]) {
        for (place, part) in elements(&format!("{place}/parts"), &content["parts"]) {
            let kinds: Vec<_> = KINDS
                .into_iter()
                .filter(|kind| part.get(kind).is_some())
                .collect();
            if kinds.len() != 1 {
                found.say(
                    &place,
                    format_args!("a part holds one thing, this one holds {}", kinds.len()),
                );
            }
            inside(found, &place, part);
            let role = text(content, "role");
            if (part.get("functionCall").is_some() && role != "model")
                || (part.get("functionResponse").is_some() && role != "user")
            {
                found.say(
                    &place,
                    format_args!("this part may not stand in a content of role {role}"),
                );
            }
            if part["text"] == "" && part.get("thoughtSignature").is_none() {
                found.say(&place, "this text is empty");
            }
        }
    }
}

fn inside(found: &mut CheckFindings, place: &str, part: &Value) {
    if let Some(data) = part.get("inlineData") {
        media::inline(found, &format!("{place}/inlineData"), data);
    }
    let Some(response) = part.get("functionResponse") else {
        return;
    };
    let place = format!("{place}/functionResponse");
    if let Some(inner) = response["response"].as_object() {
        let known = |key: &str| key == "output" || key == "error";
        if inner.len() != 1 || !inner.keys().all(|key| known(key)) {
            found.say(&place, "`response` must hold `output` or `error`");
        }
    }
}

fn parts_of<'a>(content: &'a Value, kind: &'a str) -> impl Iterator<Item = (String, &'a Value)> {
    elements("/parts", &content["parts"])
        .filter_map(move |(place, part)| Some((place, part.get(kind)?)))
}

/// After the calls of a model content, one user content responds to all of them, in their order.
fn pairing(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let mut open: Vec<&Value> = Vec::new();
    let mut place = String::new();
    for (here, content) in elements("/contents", &request.body["contents"]) {
        let responses: Vec<_> = parts_of(content, "functionResponse").collect();
        for (index, (at, response)) in responses.iter().enumerate() {
            let place = format!("{here}{at}");
            match open.get(index) {
                None => found.say(&place, "the content before has no call for this response"),
                Some(call) if !answers(call, response) => {
                    let called = label(call);
                    found.say(
                        &place,
                        format_args!("the response to {called} should stand here"),
                    );
                }
                Some(_) => {}
            }
        }
        for call in open.iter().skip(responses.len()) {
            found.say(
                &here,
                format_args!("the call {} has no response", label(call)),
            );
        }
        open = parts_of(content, "functionCall")
            .map(|(_, call)| call)
            .collect();
        place = here;
    }
    for call in open {
        found.say(
            &place,
            format_args!("the call {} has no response", label(call)),
        );
    }
}

fn answers(call: &Value, response: &Value) -> bool {
    call["name"] == response["name"] && (call["id"] == response["id"] || call["id"].is_null())
}

fn label(call: &Value) -> &str {
    call["id"].as_str().unwrap_or_else(|| text(call, "name"))
}

/// In the current turn, the first call of each step carries its signature (Gemini 3 and later).
fn signatures(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    if generation_of(request.model) < 3.0 {
        return;
    }
    let contents: Vec<_> = elements("/contents", &request.body["contents"]).collect();
    let question = contents.iter().rposition(|(_, content)| {
        content["role"] == "user" && parts_of(content, "functionResponse").next().is_none()
    });
    for (place, content) in &contents[question.map_or(0, |at| at + 1)..] {
        let Some((at, _)) = parts_of(content, "functionCall").next() else {
            continue;
        };
        let signature = request
            .body
            .pointer(&format!("{place}{at}/thoughtSignature"));
        if signature.and_then(Value::as_str).is_none_or(str::is_empty) {
            let skip = seen::SKIP;
            let what =
                format_args!("the first call of a step needs its `thoughtSignature`, or {skip}");
            found.say(&format!("{place}{at}"), what);
        }
    }
}

fn declarations(body: &Value) -> Vec<(String, &Value)> {
    let tools = elements("/tools", &body["tools"]);
    let all = tools.flat_map(|(place, tool)| {
        let place = format!("{place}/functionDeclarations");
        elements(&place, &tool["functionDeclarations"]).collect::<Vec<_>>()
    });
    all.collect()
}

fn tool_members(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let declarations = declarations(request.body);
    for (place, declaration) in &declarations {
        let both = declaration.get("parameters").is_some()
            && declaration.get("parametersJsonSchema").is_some();
        if both {
            found.say(
                place,
                "`parameters` and `parametersJsonSchema` exclude each other",
            );
        }
        for member in ["parameters", "parametersJsonSchema"] {
            schema::no_const(found, &format!("{place}/{member}"), &declaration[member]);
        }
        if text(declaration, "name")
            .starts_with(|first: char| !first.is_ascii_alphabetic() && first != '_')
        {
            found.say(
                place,
                "the name of a function starts with a letter or an underscore",
            );
        }
    }
    let names = declarations
        .iter()
        .map(|(place, declaration)| (place.clone(), text(declaration, "name")));
    tools::names(found, names, ".:-", 128);
}

fn tool_config(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let config = &request.body["toolConfig"]["functionCallingConfig"];
    if config.is_null() {
        return;
    }
    let place = "/toolConfig/functionCallingConfig";
    let Some(names) = config["allowedFunctionNames"].as_array() else {
        return;
    };
    let mode = config["mode"].as_str().unwrap_or("AUTO");
    if mode != "ANY" && mode != "VALIDATED" {
        found.say(
            place,
            format_args!("`allowedFunctionNames` does not go with the mode {mode}"),
        );
    }
    let known = declarations(request.body);
    for name in names.iter().filter_map(Value::as_str) {
        let known = known
            .iter()
            .map(|(_, declaration)| text(declaration, "name").to_owned());
        tools::chosen(found, place, name, known);
    }
}

/// What a cached content holds may not be given again.
fn cached(request: &CheckedRequest, _: &EarlierReplies, found: &mut CheckFindings) {
    let body = request.body;
    if body.get("cachedContent").is_none() {
        return;
    }
    for member in ["systemInstruction", "tools", "toolConfig"]
        .into_iter()
        .filter(|name| body.get(name).is_some())
    {
        found.say(
            "",
            format_args!("`{member}` does not go with `cachedContent`"),
        );
    }
}
