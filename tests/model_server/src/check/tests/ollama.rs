//! Ollama.

use super::*;

#[test]
fn api_chat() {
    holds(
        r#"
        ollama/01 | remove /messages | `messages` is missing
        ollama/01 | set /tool_choice "auto" | there is no `tool_choice`: leave tools out, or ask for one in words
        ollama/01 | set /parallel_tool_calls true | `parallel_tool_calls` is no member here
        ollama/01 | remove /options/num_ctx | /options: `num_ctx` must be set while the context of the running model is not known
        ollama/01 | remove /options | /options: `num_ctx` must be set while the context of the running model is not known
        ollama/01 | set /think "huge" | /think: this level is not known
        ollama/01 | model gpt-oss:20b | /think: gpt-oss:20b takes levels only
        ollama/01 | set /messages/0/role "developer" | /messages/0: the role `developer` is not known
        ollama/01 | set /messages/1/images/0 "data:image/png;base64,iVBORw0KGgo=" | /messages/1/images/0: an image is plain base64
        ollama/01 | set /messages/1/images/- "R0lGODlh" |
        ollama/01 | set /messages/1/images/0 "" | /messages/1/images/0: the data is empty
        ollama/01 | set /messages/1/images/0 "R0lGOD" | /messages/1/images/0: the data is not valid base64
        ollama/01 | set /messages/1/images/0 "JVBERi0=" | /messages/1/images/0: the data is no image
        ollama/01 | set /messages/1/content [] | /messages/1: `content` must be string
        ollama/01 | set /tools/0/function/strict true | /tools/0/function: `strict` is no member here
        ollama/03 | set /messages/1/tool_calls/0/function/arguments "{}" | /messages/1/tool_calls/0/function: `arguments` must be object
        ollama/03 | remove /messages/2/tool_name | /messages/2: `tool_name` is missing
        ollama/03 | remove /messages/2 | the call call_8k2 has no result
        ollama/03 | set /messages/2/tool_call_id "call_1" | /messages/2: no call call_1 stands directly before this result; the call call_8k2 has no result
        ollama/03 | set /messages/2/tool_name "fs_glob" | /messages/2: the call call_8k2 is not of fs_glob
        ollama/03 | set /messages/1/tool_calls/- {"id":"call_2","function":{"name":"fs_grep","arguments":{}}} ; set /messages/- {"role":"tool","tool_name":"fs_grep","tool_call_id":"call_2","content":""} |
        ollama/03 | set /messages/1/tool_calls/- {"id":"call_2","function":{"name":"fs_grep","arguments":{}}} ; insert /messages/2 {"role":"tool","tool_name":"fs_grep","tool_call_id":"call_2","content":""} | /messages/2: the result of call_2 comes before that of call_8k2
        ollama/05 | set /format/properties/answer {"const":true} | /format/properties/answer: `const` is not honoured: use an `enum` of one value
        ollama/05 | set /format "yaml" | /format: this is neither `json` nor a schema
        ollama/05 | set /messages/0/content "follow symlinks?" | /format: no message says JSON, so that the answer may be endless white space
    "#,
    );
}
