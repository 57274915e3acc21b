//! Anthropic Messages.

use super::*;

#[test]
fn members_and_models() {
    holds(
        r##"
        anthropic/02 | remove /max_tokens | `max_tokens` is missing
        anthropic/02 | set /max_token 1 | `max_token` is no member here
        anthropic/02 | set /stream "yes" | `stream` must be bool
        anthropic/02 | set /output_config/effort "huge" | /output_config: `effort` must be low or medium or high or xhigh or max
        anthropic/02 | header anthropic-version  | the header anthropic-version is missing
        anthropic/22 | set /max_tokens 100 | `max_tokens` is no member here
        anthropic/02 | set /thinking {"type":"enabled","budget_tokens":2000} | /thinking: claude-opus-5-5 does not take the type enabled
        anthropic/02 | set /thinking {"type":"disabled"} | /thinking: claude-opus-5-5 does not take the type disabled
        anthropic/02 | set /thinking {"type":"between_tools"} | /thinking: claude-opus-5-5 does not take the type between_tools
        anthropic/02 | model claude-sonnet-5-5 ; set /thinking {"type":"between_tools"} |
        anthropic/02 | model claude-haiku-4-5 ; remove /output_config | /thinking: claude-haiku-4-5 does not take the type adaptive
        anthropic/02 | model claude-opus-5 ; set /thinking {"type":"disabled"} ; set /output_config/effort "max" | /thinking: it cannot be disabled at the effort max
        anthropic/02 | model claude-sonnet-4-6 ; set /thinking {"type":"enabled","budget_tokens":1000} | /thinking: `budget_tokens` must be at least 1024
        anthropic/02 | model claude-sonnet-4-6 ; set /thinking {"type":"enabled","budget_tokens":16000} | /thinking: `budget_tokens` must be less than `max_tokens`
        anthropic/02 | set /thinking {"type":"adaptive","block_binding":{}} | /thinking/block_binding: this needs the beta thinking-binding-controls-2026-08-01
        anthropic/02 | set /thinking {"type":"deep"} | /thinking: this type is not known; /thinking: claude-opus-5-5 does not take the type deep
        anthropic/02 | set /tools/0 "fs_grep" | /tools/0: this is not an object; /tools/0: `input_schema` must be of type object
        anthropic/02 | set /temperature 1 | `temperature` is refused since version 2026-10-21
        anthropic/02 | header anthropic-version 2023-06-01 ; set /temperature 0.5 | claude-opus-5-5 does not take `temperature`
        anthropic/02 | header anthropic-version 2023-06-01 ; model claude-opus-4-6 ; set /temperature 0.5 |
        anthropic/02 | set /max_tokens 0 | `max_tokens` of 0 does not go with stream
    "##,
    );
}

#[test]
fn tools_and_schemas() {
    holds(
        r##"
        anthropic/02 | set /tool_choice {"type":"any"} | /tool_choice: claude-opus-5-5 does not take forced tools
        anthropic/02 | model claude-fable-5-1 ; set /tool_choice {"type":"tool","name":"fs_grep"} | /tool_choice: claude-fable-5-1 does not take forced tools
        anthropic/02 | model claude-opus-5 ; set /tool_choice {"type":"tool","name":"fs_grep"} |
        anthropic/02 | model claude-opus-5 ; set /tool_choice {"type":"tool","name":"fs_glob"} | /tool_choice: there is no tool fs_glob
        anthropic/02 | model claude-opus-4-6 ; set /tool_choice {"type":"any"} ; set /thinking {"type":"enabled","budget_tokens":2000} | /tool_choice: enabled thinking does not go with forced tools
        anthropic/02 | set /tools/1/name "fs_grep" | /tools/1: the tool fs_grep is given twice
        anthropic/02 | set /tools/0/name "fs.grep" | /tools/0: `fs.grep` is no name for a tool
        anthropic/02 | remove /tools/0/input_schema/type | /tools/0: `input_schema` must be of type object
        anthropic/02 | remove /tools/1/input_schema/additionalProperties | /tools/1/input_schema: `additionalProperties` must be false in a strict schema
        anthropic/02 | remove /tools/0/input_schema/additionalProperties |
        anthropic/02 | set /tools/1/input_schema/properties/answer/maxLength 9 | /tools/1/input_schema/properties/answer: `maxLength` is not allowed in a strict schema
        anthropic/19 | set /output_config/format/schema/properties/answer {"type":"integer","minimum":1} | /output_config/format/schema/properties/answer: `minimum` is not allowed in a strict schema
        anthropic/19 | set /output_config/format/schema/properties/answer {"$ref":"#"} | /output_config/format/schema: a strict schema must not be recursive
        anthropic/19 | set /output_config/format/schema/properties/answer {"type":"string","pattern":"^(?!a)"} | /output_config/format/schema/properties/answer: a pattern of a strict schema must not look around or back
        anthropic/19 | set /output_config/format/schema/properties/answer {"type":"array","items":{"type":"string"},"minItems":2} | /output_config/format/schema/properties/answer: `minItems` may only be 0 or 1 in a strict schema
        anthropic/19 | set /output_config/format/schema/properties/answer {"enum":[{}]} | /output_config/format/schema/properties/answer: an enum of a strict schema may only hold scalars
        anthropic/19 | set /output_config/format/schema/properties/answer {"allOf":[{"$ref":"#/$defs/a"}]} ; set /output_config/format/schema/$defs {"a":{"type":"string"}} | /output_config/format/schema/properties/answer: `allOf` must not hold a `$ref` in a strict schema
        anthropic/19 | set /output_config/format/schema/properties/answer {"$ref":"https://example.org/a"} | /output_config/format/schema/properties/answer: a `$ref` must stay inside its schema
        anthropic/19 | set /output_config/format/schema/properties/answer {"type":"string","format":"regex"} | /output_config/format/schema/properties/answer: the format regex is not known in a strict schema
    "##,
    );
}

#[test]
fn limits_of_strict_schemas_are_counted_over_the_request() {
    let with_tools = |count: usize, property: &Value| {
        let mut sent = SentExample::sample("anthropic/02");
        let tools = (0..count).map(|index| {
            let properties = json!({"a": property, "b": property});
            let schema =
                json!({"type": "object", "properties": properties, "additionalProperties": false});
            json!({"name": format!("tool_{index}"), "strict": true, "input_schema": schema})
        });
        sent.body["tools"] = tools.collect();
        check(&sent.request(), &EarlierReplies::default()).join("; ")
    };
    let text = json!({"type": "string"});
    assert_eq!(with_tools(12, &text), "");
    let optional = "strict schemas have 26 optional parameters; at most 24 are taken";
    assert_eq!(with_tools(13, &text), optional);
    let union = json!({"type": ["string", "null"]});
    assert_eq!(with_tools(8, &union), "");
    let unions = "strict schemas have 18 union types; at most 16 are taken";
    assert_eq!(with_tools(9, &union), unions);
    assert!(with_tools(21, &text).starts_with("/tools: 21 tools are strict; at most 20 may be"));
}

#[test]
fn messages() {
    holds(
        r##"
        anthropic/04 | remove /messages/2/content/1 | /messages/2: the call toolu_01BBB has no result
        anthropic/04 | remove /messages/2 | the call toolu_01AAA has no result; the call toolu_01BBB has no result; /messages/1: the conversation must end with a message of the user
        anthropic/04 | insert /messages/2/content/0 {"type":"text","text":"So:"} | /messages/2/content/1: results must come before anything else in their message; /messages/2/content/2: results must come before anything else in their message
        anthropic/04 | set /messages/2/content/- {"type":"text","text":"Go on."} |
        anthropic/04 | swap /messages/2/content/0 /messages/2/content/1 |
        anthropic/04 | insert /messages/2 {"role":"user","content":"Wait."} | /messages/2: the call toolu_01AAA has no result; /messages/2: the call toolu_01BBB has no result; /messages/3/content/0: the message before has no call toolu_01AAA; /messages/3/content/1: the message before has no call toolu_01BBB
        anthropic/04 | copy /messages/2/content/0 /messages/2/content/- | /messages/2/content/2: the call toolu_01AAA has a second result
        anthropic/04 | set /messages/2/content/1/tool_use_id "toolu_01CCC" | /messages/2/content/1: the message before has no call toolu_01CCC; /messages/2: the call toolu_01BBB has no result
        anthropic/04 | set /messages/1/content/3/id "toolu_01AAA" | /messages/1/content/3: the id toolu_01AAA is used twice; /messages/2/content/1: the message before has no call toolu_01BBB; /messages/2: the call toolu_01AAA has no result
        anthropic/04 | remove /tools | the history has calls of tools, and `tools` is not there
        anthropic/04 | set /messages/1/content/1/text "" | /messages/1/content/1: this text is empty
        anthropic/04 | set /messages/1/content/1/text " \n" | /messages/1: the last text of the assistant is nothing but white space
        anthropic/04 | set /messages/1/content/2/input "{}" | /messages/1/content/2: `input` must be object
        anthropic/04 | remove /messages/1/content/0/signature | /messages/1/content/0: `signature` is missing
        anthropic/04 | set /messages/1/content/- {"type":"tool_output"} | /messages/1/content/4: a block of type `tool_output` is not known
        anthropic/04 | copy /messages/1/content/0 /messages/2/content/- | /messages/2/content/2: a block of type thinking may not stand in a message of role user
        anthropic/04 | set /messages/1/content/- {"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0="}} | /messages/1/content/4: a document may not stand in a message of the assistant since version 2026-10-21
        anthropic/02 | set /messages/- {"role":"assistant","content":"{"} | /messages/1: the conversation must end with a message of the user
        anthropic/19 | set /messages/- {"role":"assistant","content":"{"} ; model claude-opus-4-5 |
        anthropic/02 | set /messages/- {"role":"assistant","content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}]} |
        anthropic/02 | set /messages/0/content [] | /messages/0/content: this is empty
        anthropic/02 | set /messages/0/role "tool" | /messages/0: `role` must be user or assistant or system; /messages/0/content/0: a block of type text may not stand in a message of role tool
        anthropic/02 | set /messages [] | /messages: there is no message
        anthropic/04 | set /messages/2/content/1/content/0/text "" | /messages/2/content/1/content/0: this text is empty
        anthropic/04 | set /messages/2/content/0/content [] |
        anthropic/04 | set /messages/2/content/1/content/0 {"type":"tool_use"} | /messages/2/content/1/content/0: a block of type tool_use may not stand in a result
        anthropic/02 | set /messages/0/content/0/citations [{}] | /messages/0/content/0: text of the user may not have citations since version 2026-10-21
        anthropic/02 | set /messages/0/content/0/citations [{}] ; header anthropic-version 2023-06-01 |
        anthropic/21 | model claude-sonnet-5 | /messages/3: claude-sonnet-5 does not take the role system here
        anthropic/21 | swap /messages/0 /messages/3 ; remove /messages/3 | /messages/0: a system message must follow a message of the user
        anthropic/21 | set /messages/- {"role":"user","content":"Yes."} | /messages/3: a system message must be the last or be followed by the assistant's
        anthropic/21 | copy /messages/3 /messages/2 | /messages/2: the call toolu_01AAA has no result; /messages/3/content/0: the message before has no call toolu_01AAA; /messages/2: a system message must follow a message of the user; /messages/2: a system message must be the last or be followed by the assistant's
        anthropic/21 | header anthropic-beta mid-conversation-output-config-2026-07-01 | /messages/3/clear_at: this needs the beta mid-conversation-system-clear-at-2026-08-21
    "##,
    );
}

#[test]
fn breakpoints_of_the_cache() {
    holds(
        r##"
        anthropic/04 | set /messages/2/content/0/cache_control {"type":"ephemeral"} |
        anthropic/04 | set /messages/2/content/0/cache_control {"type":"ephemeral"} ; set /messages/0/content/0/cache_control {"type":"ephemeral"} | there are 5 breakpoints; at most 4 are taken
        anthropic/04 | set /messages/1/content/0/cache_control {"type":"ephemeral"} | /messages/1/content/0: `cache_control` is no member here
        anthropic/02 | set /system/0/text "" | /system/0: this text is empty; /system/0: this block may not have `cache_control`
        anthropic/02 | set /cache_control/ttl "10m" | /cache_control: `ttl` must be 5m or 1h
        anthropic/02 | set /cache_control/ttl "1h" | /cache_control: a breakpoint of 1h must come before those of 5m
        anthropic/02 | set /system/0/cache_control/ttl "1h" | /system/0: a breakpoint of 1h must come before those of 5m
        anthropic/02 | set /tools/1/cache_control/ttl "1h" |
        anthropic/02 | set /messages/0/content/0/cache_control {"type":"ephemeral","ttl":"1h"} ; set /tools/1/cache_control/ttl "1h" ; set /system/0/cache_control/ttl "1h" | /cache_control: the last block has a breakpoint with another ttl
    "##,
    );
}
