use super::*;

/// The property as the four APIs receive it, each on one line; `None` if the API cannot be strict about it.
fn property(schema: Value) -> [String; 4] {
    let whole = json!({
        "type": "object",
        "properties": {"p": schema},
        "required": ["p"],
        "$defs": {
            "name": {"type": "string", "description": "A name."},
            "tree": {"type": "array", "items": {"$ref": "#/$defs/tree"}},
        },
    });
    let show = |schema: Option<Value>| {
        schema.map_or("None".into(), |schema| {
            schema["properties"]["p"].to_string()
        })
    };
    [
        show(for_openai(&whole)),
        show(for_anthropic(&whole)),
        show(Some(for_gemini(&whole))),
        show(Some(for_ollama(&whole))),
    ]
}

#[test]
fn unsupported_constraints_go_into_the_description() {
    let table = [
        (json!({"type": "string"}), [r#"{"type":"string"}"#; 4]),
        (
            json!({"const": "a"}),
            [
                r#"{"enum":["a"],"type":"string"}"#,
                r#"{"const":"a"}"#,
                r#"{"enum":["a"],"type":"string"}"#,
                r#"{"enum":["a"],"type":"string","description":"(one of [\"a\"])"}"#,
            ],
        ),
        (
            json!({"type": "string", "enum": ["", "a"], "description": "How."}),
            [
                r#"{"type":"string","enum":["","a"],"description":"How."}"#,
                r#"{"type":"string","enum":["","a"],"description":"How."}"#,
                r#"{"type":"string","description":"How. (one of [\"\",\"a\"])"}"#,
                r#"{"type":"string","enum":["","a"],"description":"How. (one of [\"\",\"a\"])"}"#,
            ],
        ),
        (
            json!({"type": "integer", "minimum": 1, "default": 7, "title": "N", "examples": [8]}),
            [
                r#"{"type":"integer","minimum":1,"description":"(default 7)"}"#,
                r#"{"type":"integer","default":7,"description":"(minimum 1)"}"#,
                r#"{"type":"integer","minimum":1,"title":"N","description":"(default 7)"}"#,
                r#"{"type":"integer","minimum":1,"default":7,"title":"N","examples":[8]}"#,
            ],
        ),
        (
            json!({"type": "string", "minLength": 1, "format": "uri", "pattern": r"\bx"}),
            [
                r#"{"type":"string","pattern":"\\bx","description":"(minLength 1; format \"uri\")"}"#,
                r#"{"type":"string","format":"uri","description":"(minLength 1; pattern \"\\\\bx\")"}"#,
                r#"{"type":"string","format":"uri","description":"(minLength 1; pattern \"\\\\bx\")"}"#,
                r#"{"type":"string","minLength":1,"format":"uri","pattern":"\\bx"}"#,
            ],
        ),
        (
            json!({"$ref": "#/$defs/name", "description": "Whose."}),
            [r#"{"description":"Whose.","type":"string"}"#; 4],
        ),
        (
            json!({"allOf": [{"$ref": "#/$defs/name"}], "default": null}),
            [
                r#"{"type":"string","description":"A name."}"#,
                r#"{"default":null,"type":"string","description":"A name."}"#,
                r#"{"type":"string","description":"A name."}"#,
                r#"{"default":null,"type":"string","description":"A name."}"#,
            ],
        ),
        (
            json!({"oneOf": [{"type": "null"}, {"type": "array", "items": {"const": 1}}]}),
            [
                r#"{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1],"type":"number"}}]}"#,
                r#"{"anyOf":[{"type":"null"},{"type":"array","items":{"const":1}}]}"#,
                r#"{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1],"type":"number"}}]}"#,
                r#"{"anyOf":[{"type":"null"},{"type":"array","items":{"enum":[1],"type":"number","description":"(one of [1])"}}]}"#,
            ],
        ),
        (
            json!({"$ref": "#/$defs/tree"}),
            [
                "None",
                "None",
                r##"{"type":"array","items":{"description":"As in #/$defs/tree."}}"##,
                r##"{"type":"array","items":{"description":"As in #/$defs/tree."}}"##,
            ],
        ),
        (
            json!({"$ref": "https://example.org/x"}),
            [
                "None",
                "None",
                r#"{"description":"As in https://example.org/x."}"#,
                r#"{"description":"As in https://example.org/x."}"#,
            ],
        ),
        (
            json!({"type": "object", "additionalProperties": {"const": true}}),
            [
                "None",
                "None",
                r#"{"type":"object","additionalProperties":{"type":"boolean","description":"(one of [true])"}}"#,
                r#"{"type":"object","additionalProperties":{"enum":[true],"type":"boolean","description":"(one of [true])"}}"#,
            ],
        ),
        (
            json!({"type": "string", "not": {"const": "x"}}),
            [
                "None",
                "None",
                r#"{"type":"string","description":"(not {\"const\":\"x\"})"}"#,
                r#"{"type":"string","not":{"const":"x"}}"#,
            ],
        ),
        (json!(true), ["None", "None", "{}", "{}"]),
        (
            json!({"description": "Any."}),
            [
                "None",
                "None",
                r#"{"description":"Any."}"#,
                r#"{"description":"Any."}"#,
            ],
        ),
        (
            json!({"type": "object"}),
            [
                "None",
                "None",
                r#"{"type":"object"}"#,
                r#"{"type":"object"}"#,
            ],
        ),
        (
            json!({"type": "array"}),
            ["None", "None", r#"{"type":"array"}"#, r#"{"type":"array"}"#],
        ),
    ];
    for (schema, expected) in table {
        let shown = property(schema.clone());
        for (api, (shown, expected)) in ["OpenAI", "Anthropic", "Gemini", "Ollama"]
            .into_iter()
            .zip(shown.iter().zip(expected))
        {
            assert_eq!(shown, expected, "{api}: {schema}");
        }
    }
}

#[test]
fn strict_objects_are_closed_and_openai_requires_all_properties() {
    let table = [
        // An object without properties.
        (
            json!({"type": "object"}),
            r#"{"type":"object","properties":{},"required":[],"additionalProperties":false}"#,
            r#"{"type":"object","additionalProperties":false}"#,
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "string"}}}),
            "None",
            r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#,
        ),
        // The schema accepts null in place of an absent value.
        (
            json!({"properties": {"a": {"type": ["string", "null"]}, "b": {"anyOf": [{"type": "null"}]}}, "required": ["b"]}),
            r#"{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"}]}},"required":["a","b"],"type":"object","additionalProperties":false}"#,
            r#"{"properties":{"a":{"type":["string","null"]},"b":{"anyOf":[{"type":"null"}]}},"required":["b"],"type":"object","additionalProperties":false}"#,
        ),
        (
            json!({"type": "object", "properties": {}, "additionalProperties": true}),
            "None",
            "None",
        ),
        (
            json!({"type": "object", "properties": {}, "required": ["a"]}),
            "None",
            "None",
        ),
        (json!({"type": "string"}), "None", "None"),
        (json!({"anyOf": [{"type": "string"}]}), "None", "None"),
    ];
    for (schema, openai, anthropic) in table {
        let show =
            |schema: Option<Value>| schema.map_or("None".into(), |schema| schema.to_string());
        assert_eq!(show(for_openai(&schema)), openai, "OpenAI: {schema}");
        assert_eq!(
            show(for_anthropic(&schema)),
            anthropic,
            "Anthropic: {schema}"
        );
    }
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
