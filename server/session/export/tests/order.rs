//! Where an answer stands on the page.

use super::check;

#[test]
fn an_answer_stands_at_its_own_question_however_many_are_open() {
    check(
        r#"
        {"type":"tool_call","call":0,"id":"","name":"edit_file","arguments":"{}"}
        {"type":"inquiry_request","id":"i","call":0,"source":{"type":"assistant"},"question":{"id":"answer","text":"Ship it?","answer_type":{"type":"boolean"}}}
        {"type":"prompt_opened","prompt":"p1","call":0,"kind":"runTool","hash":"h","diff":true,"title":"Edit a.rs"}
        {"type":"prompt_opened","prompt":"p2","call":0,"kind":"runTool","hash":"h","diff":true,"title":"Edit b.rs"}
        {"type":"tool_result","call":0,"status":"ok","content":"Done."}
        {"type":"inquiry_response","id":"i","call":0,"outcome":"answered","answer":true,"by":"user"}
        {"type":"prompt_closed","prompt":"p2","outcome":"permitted","permission":"once"}
        {"type":"prompt_closed","prompt":"p1","outcome":"permitted","permission":"no"}
        "#,
        "**The assistant asks:** Ship it?\n\n> **The user answered:** true\n\n\
         *Edit a.rs?*\n\n> **The user answered:** no\n\n\
         *Edit b.rs?*\n\n> **The user answered:** once\n\n**Interrupted.**",
    );
}
