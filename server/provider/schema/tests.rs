use super::*;

/// A property as an API receives it; `None` if the API cannot be strict about it.
fn property(api: &str, schema: &Value) -> String {
    let whole = json!({
        "type": "object",
        "properties": {"p": schema},
        "required": ["p"],
        "$defs": {
            "name": {"type": "string", "description": "A name."},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    });
    shown(api, &whole).map_or("None".into(), |schema| {
        schema["properties"]["p"].to_string()
    })
}

fn shown(api: &str, schema: &Value) -> Option<Value> {
    match api {
        "OpenAI" => for_openai(schema),
        "Anthropic" => for_anthropic(schema),
        "Gemini" => Some(for_gemini(schema)),
        _ => Some(for_ollama(schema)),
    }
}

/// Schemas of a property, and under each what becomes of it.
const PROPERTIES: &str = r##"
    {"type": "string"}
    OpenAI Anthropic Gemini Ollama => {"type":"string"}

    {"const": "a"}
    OpenAI Gemini => {"enum":["a"],"type":"string"}
    Anthropic => {"const":"a"}
    Ollama => {"enum":["a"],"type":"string","description":"(one of [\"a\"])"}

    {"type": "string", "enum": ["", "a"], "description": "How."}
    OpenAI Anthropic => {"type":"string","enum":["","a"],"description":"How."}
    Gemini => {"type":"string","description":"How. (one of [\"\",\"a\"])"}
    Ollama => {"type":"string","enum":["","a"],"description":"How. (one of [\"\",\"a\"])"}

    {"type": "integer", "minimum": 1, "default": 7, "title": "N", "examples": [8]}
    OpenAI => {"type":"integer","minimum":1,"description":"(default 7)"}
    Anthropic => {"type":"integer","default":7,"description":"(minimum 1)"}
    Gemini => {"type":"integer","minimum":1,"title":"N","description":"(default 7)"}
    Ollama => {"type":"integer","minimum":1,"default":7,"title":"N","examples":[8]}

    {"type": "string", "minLength": 1, "format": "uri", "pattern": "\\bx"}
    OpenAI => {"type":"string","pattern":"\\bx","description":"(minLength 1; format \"uri\")"}
    Anthropic Gemini => {"type":"string","format":"uri","description":"(minLength 1; pattern \"\\\\bx\")"}
    Ollama => {"type":"string","minLength":1,"format":"uri","pattern":"\\bx"}

    {"$ref": "#/$defs/name", "description": "Whose."}
    OpenAI Anthropic Gemini Ollama => {"description":"Whose.","type":"string"}

    {"allOf": [{"$ref": "#/$defs/name"}], "default": null}
    OpenAI Gemini => {"type":"string","description":"A name."}
    Anthropic Ollama => {"default":null,"type":"string","description":"A name."}

    {"oneOf": [{"type": "null"}, {"type": "array", "items": {"const": 1}}]}
    OpenAI Gemini => {"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1],"type":"number"}}]}
    Anthropic => {"anyOf":[{"type":"null"},{"type":"array","items":{"const":1}}]}
    Ollama => {"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1],"type":"number","description":"(one of [1])"}}]}

    {"$ref": "#/$defs/tree"}
    OpenAI Anthropic => None
    Gemini Ollama => {"type":"array","items":{"description":"As in #/$defs/tree."}}

    {"$ref": "https://example.org/x"}
    OpenAI Anthropic => None
    Gemini Ollama => {"description":"As in https://example.org/x."}

    {"type": "object", "additionalProperties": {"const": true}}
    OpenAI Anthropic => None
    Gemini => {"type":"object","additionalProperties":{"type":"boolean","description":"(one of [true])"}}
    Ollama => {"type":"object","additionalProperties":{"enum":[true],"type":"boolean","description":"(one of [true])"}}

    {"type": "string", "not": {"const": "x"}}
    OpenAI Anthropic => None
    Gemini => {"type":"string","description":"(not {\"const\":\"x\"})"}
    Ollama => {"type":"string","not":{"const":"x"}}

    true
    OpenAI Anthropic => None
    Gemini Ollama => {}

    {"description": "Any."}
    OpenAI Anthropic => None
    Gemini Ollama => {"description":"Any."}

    {"type": "object"}
    OpenAI Anthropic => None
    Gemini Ollama => {"type":"object"}

    {"type": "array"}
    OpenAI Anthropic => None
    Gemini Ollama => {"type":"array"}
"##;

/// Checks a table: schemas, and under each what becomes of it in which APIs. Returns how much was checked.
#[track_caller]
fn check(table: &str, told: impl Fn(&str, &Value) -> String) -> usize {
    let (mut schema, mut checked) = (Value::Null, 0);
    let lines = table.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let Some((apis, expected)) = line.split_once(" => ") else {
            schema = line.parse().unwrap();
            continue;
        };
        for api in apis.split_whitespace() {
            assert_eq!(told(api, &schema), expected, "{api}: {schema}");
            checked += 1;
        }
    }
    checked
}

#[test]
fn unsupported_constraints_go_into_the_description() {
    assert_eq!(check(PROPERTIES, property), 16 * 4);
}

/// Schemas of arguments, and under each what strict tools have.
const OBJECTS: &str = r#"
    # An object without properties.
    {"type": "object"}
    OpenAI => {"type":"object","properties":{},"required":[],"additionalProperties":false}
    Anthropic => {"type":"object","additionalProperties":false}

    {"type": "object", "properties": {"a": {"type": "string"}}}
    OpenAI => None
    Anthropic => {"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}

    # The schema accepts null in place of an absent value.
    {"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "null"}]}}, "required": ["b"]}
    OpenAI => {"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"}]}},"required":["a","b"],"type":"object","additionalProperties":false}
    Anthropic => {"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"}]}},"required":["b"],"type":"object","additionalProperties":false}

    {"type": "object", "properties": {}, "additionalProperties": true}
    OpenAI Anthropic => None

    {"type": "object", "properties": {}, "required": ["a"]}
    OpenAI Anthropic => None

    {"type": "string"}
    OpenAI Anthropic => None

    {"anyOf": [{"type": "string"}]}
    OpenAI Anthropic => None
"#;

#[test]
fn strict_objects_are_closed_and_openai_requires_all_properties() {
    let told =
        |api: &str, schema: &Value| shown(api, schema).map_or("None".into(), |it| it.to_string());
    assert_eq!(check(OBJECTS, told), 7 * 2);
}

#[test]
fn supported_schemas_are_unchanged() {
    let schema = json!({
        "type": "object",
        "properties": {"inquiry_id": {"type": "string"}, "answer": {"type": "string"}},
        "required": ["inquiry_id", "answer"],
        "additionalProperties": false,
    });
    let same = schema.to_string();
    for told in [
        for_openai(&schema).unwrap(),
        for_anthropic(&schema).unwrap(),
        for_gemini(&schema),
        for_ollama(&schema),
    ] {
        assert_eq!(told.to_string(), same, "the order of words too");
    }
}

#[test]
fn patterns_that_anthropic_cannot_compile_are_detected() {
    for simple in ["^[a-z]+$", r"^\d{3}(?:-\d+)?$", r"\\b", r"(a|b)?", r"\(?"] {
        assert!(is_simple(simple), "{simple}");
    }
    for other in [r"\bword", r"(a)\1", "(?=x)", "(?!x)", "(?<=x)", r"\k<name>"] {
        assert!(!is_simple(other), "{other}");
    }
}

#[test]
fn schemas_are_limited_in_size_and_depth() {
    // Each definition doubles the next one: expanded, they would be 2^40.
    let mut defs = Map::new();
    for at in 0..40 {
        let next = json!({"$ref": format!("#/$defs/{}", at + 1)});
        defs.insert(
            at.to_string(),
            json!({"type": "object", "properties": {"a": next, "b": next}}),
        );
    }
    defs.insert("40".into(), json!({"type": "string"}));
    let bomb = json!({"$ref": "#/$defs/0", "$defs": defs});
    assert_eq!(for_openai(&bomb), None);
    assert!(for_gemini(&bomb).to_string().len() < MAX_NODES * 100);
    let values: Vec<usize> = (0..=MAX_VALUES).collect();
    assert_eq!(
        for_openai(
            &json!({"type": "object", "properties": {"a": {"enum": values}}, "required": ["a"]})
        ),
        None
    );
    let mut deep = json!({"type": "string"});
    for _ in 0..100 {
        deep = json!({"type": "object", "properties": {"a": deep}, "required": ["a"]});
    }
    assert_eq!(for_openai(&deep), None);
}
