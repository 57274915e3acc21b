//! OpenAI Responses and Chat Completions.

use super::*;

#[test]
fn responses() {
    holds(
        r##"
        openai_responses/01 | remove /input | `input` is missing
        openai_responses/01 | set /max_tokens 1 | `max_tokens` is no member here
        openai_responses/01 | remove /store | `store` must be false
        openai_responses/01 | set /previous_response_id "resp_1" | `previous_response_id` needs what is not stored
        openai_responses/01 | set /temperature 0.2 | `temperature` is only taken at the effort none
        openai_responses/01 | set /input/0/content/0/type "output_text" | /input/0/content/0: a part of type output_text may not stand in a message of role user
        openai_responses/01 | set /metadata {"a":"","b":"","c":"","d":"","e":"","f":"","g":"","h":"","i":"","j":"","k":"","l":"","m":"","n":"","o":"","p":"","q":""} | /metadata: there are more than 16 pairs
        openai_responses/01 | insert /input/0 {"type":"item_reference","id":"msg_0"} | /input/0: an item_reference needs what is not stored
        openai_responses/01 | insert /input/0 {"type":"tool_output"} | /input/0: an item of type `tool_output` is not known
        openai_responses/03 | remove /input/4 | /input: the call call_A1 has no output
        openai_responses/03 | remove /input/3 | /input/3: there is no call call_A1 before this output
        openai_responses/03 | copy /input/4 /input/- | /input/5: the call call_A1 has a second output
        openai_responses/03 | swap /input/3 /input/4 | /input/3: there is no call call_A1 before this output; /input: the call call_A1 has no output
        openai_responses/03 | swap /input/1 /input/3 | /input/3: the item that this reasoning led to does not follow it
        openai_responses/03 | remove /input/1/encrypted_content | /input/1: reasoning that is not stored needs its `encrypted_content`
        openai_responses/03 | set /input/3/arguments {} | /input/3: `arguments` must be string
        openai_responses/03 | set /input/3/status "incomplete" | /input/3: a truncated call must not be sent back
        openai_responses/03 | set /input/2/phase "answer" | /input/2: `phase` must be commentary or final_answer
        openai_responses/01 | set /tools/1/name "fs_grep" | /tools/1: the tool fs_grep is given twice
        openai_responses/01 | set /tools/0/parameters/required ["path"] | /tools/0/parameters: `pattern` must be required in a strict schema
        openai_responses/01 | set /tools/0/parameters/required ["path"] ; set /tools/0/strict false |
        openai_responses/01 | remove /tools/0/parameters/additionalProperties | /tools/0/parameters: `additionalProperties` must be false in a strict schema
        openai_responses/08 | set /input/5/text/format/schema/properties/inquiry_id {"const":"inq_7"} | /input/5/text/format/schema/properties/inquiry_id: `const` is not allowed in a strict schema
        openai_responses/08 | set /input/5/text/format/schema/type "array" | /input/5/text/format/schema: the root of a strict schema must be an object
        openai_responses/08 | set /input/5/text/format/schema/properties/answer {"$ref":"#/$defs/a","title":"A"} | /input/5/text/format/schema/properties/answer: a `$ref` must stand alone
        openai_responses/08 | set /input/5/text/format/schema/anyOf [] | /input/5/text/format/schema: `anyOf` is not allowed at the root of a strict schema
        openai_responses/08 | set /input/5/text/format/schema/properties/answer {"type":"null","default":null} | /input/5/text/format/schema/properties/answer: `default` must not be null in a strict schema
        openai_responses/08 | set /reasoning/mode "pro" | /input/5: a configuration_update is not taken in pro mode
        openai_responses/01 | set /input/0/content [{"type":"input_text","text":"a","prompt_cache_breakpoint":{}},{"type":"input_text","text":"b","prompt_cache_breakpoint":{}},{"type":"input_text","text":"c","prompt_cache_breakpoint":{}},{"type":"input_text","text":"d","prompt_cache_breakpoint":{}}] | there are 4 explicit breakpoints; at most 3 are taken
        openai_responses/01 | set /input/0/content/0/prompt_cache_breakpoint {"mode":"explicit"} |
        openai_responses/09 | set /tool_choice/name "ask" | /tool_choice: there is no tool ask
        openai_responses/09 | set /tool_choice "any" | /tool_choice: `any` is no choice
        openai_responses/09 | set /tool_choice {"type":"allowed_tools","mode":"required","tools":[{"type":"function","name":"answer_inquiry"}]} |
    "##,
    );
}

#[test]
fn chat() {
    holds(
        r##"
        openai_chat/01 | remove /messages | `messages` is missing
        openai_chat/01 | set /max_output_tokens 9 | `max_output_tokens` is no member here
        openai_chat/01 | set /stream false | `stream_options` is only taken with `stream`
        openai_chat/01 | set /stop ["a"] | /stop: gpt-6.1-sol does not take `stop`
        openai_chat/01 | set /stop ["a","b","c","d","e"] ; model qwen3.5-9b | /stop: at most 4 are taken
        openai_chat/01 | set /tool_choice "any" | /tool_choice: `any` is no choice
        openai_chat/01 | set /tool_choice "any" ; model mistral-large-4 |
        openai_chat/01 | set /reasoning_format "none" | `reasoning_format` is no member here
        openai_chat/01 | set /reasoning_format "none" ; model qwen3.5-9b |
        openai_chat/01 | set /messages/0/role "model" | /messages/0: the role `model` is not known
        openai_chat/01 | set /messages/1/content/0/type "input_text" | /messages/1/content/0: a part of type input_text may not stand in a message of role user
        openai_chat/01 | set /tool_choice {"type":"function","function":{"name":"fs_glob"}} | /tool_choice: there is no tool fs_glob
        openai_chat/01 | copy /tools/0 /tools/- | /tools/1: the tool fs_grep is given twice
        openai_chat/03 | remove /messages/3 | the call call_B2 has no result
        openai_chat/03 | insert /messages/3 {"role":"user","content":"And?"} | /messages/3: the call call_B2 has no result; /messages/4: no call call_B2 stands directly before this result
        openai_chat/03 | copy /messages/2 /messages/- | /messages/4: the call call_A1 has a second result
        openai_chat/03 | remove /messages/2/tool_call_id | /messages/2: `tool_call_id` is missing; the call call_A1 has no result
        openai_chat/03 | set /messages/1/tool_calls/0/function/arguments {} | /messages/1/tool_calls/0/function: `arguments` must be string
        openai_chat/03 | set /messages/1/tool_calls/0/function/arguments "{" | /messages/1/tool_calls/0/function: `arguments` is not JSON
        openai_chat/03 | set /messages/1/content {} | /messages/1: `content` must be string or null
        openai_chat/03 | set /messages/1/reasoning_content "Hm." | /messages/1: `reasoning_content` is no member here
        openai_chat/03 | remove /messages/1/tool_calls ; remove /messages/3 ; remove /messages/2 | /messages/1: there is neither content nor a call
        openai_chat/04 | set /response_format/schema {} | /response_format: `schema` is no member here
        openai_chat/04 | set /response_format/json_schema/schema/properties/answer {"const":true} | /response_format/json_schema/schema/properties/answer: `const` is not allowed in a strict schema
        openai_chat/11 | remove /messages/1/reasoning_content | /messages/1: `reasoning_content` must come back
    "##,
    );
}
