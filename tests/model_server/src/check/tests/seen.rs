//! What earlier responses gave comes back unchanged.

use super::*;

/// What was given when the reply in a later sample answered an earlier sample.
fn replied(first: &str, later: &str, items: &str, own: std::ops::Range<usize>) -> EarlierReplies {
    let mut seen = EarlierReplies::default();
    let reply = SentExample::sample(later)
        .body
        .pointer(items)
        .unwrap()
        .as_array()
        .unwrap()[own]
        .to_vec();
    seen.response(&SentExample::sample(first).request(), &reply);
    seen
}

#[test]
fn thinking_of_anthropic() {
    let seen = replied("anthropic/02", "anthropic/04", "/messages/1/content", 0..4);
    holds_after(
        &seen,
        r#"
        anthropic/02 | |
        anthropic/04 | |
        anthropic/17 | |
        anthropic/04 | remove /system/0/cache_control ; remove /cache_control |
        anthropic/04 | set /max_tokens 9000 ; set /thinking/display "omitted" |
        anthropic/04 | set /messages/1/content/0/signature "Eu" | /messages/1/content/0: no response gave this signature; /messages/1: the thinking of the latest turn does not come back as it was given
        anthropic/04 | set /messages/1/content/0/thinking "Hm." | /messages/1/content/0: this is not the content that the signature was given with; /messages/1: the thinking of the latest turn does not come back as it was given
        anthropic/04 | set /messages/0/content/0/text "Where?" | /messages/1/content/0: the conversation before this block is not the one that it is bound to
        anthropic/04 | set /system/0/text "You are kind." | /messages/1/content/0: the conversation before this block is not the one that it is bound to
        anthropic/04 | remove /tools/1 | /messages/1/content/0: the conversation before this block is not the one that it is bound to
        anthropic/04 | remove /tools/1 ; set /thinking/block_binding {"prefix_mismatch_behavior":"drop_block"} ; header anthropic-beta thinking-binding-controls-2026-08-01 |
        anthropic/04 | swap /messages/1/content/0 /messages/1/content/1 | /messages/1/content/1: the conversation before this block is not the one that it is bound to
        anthropic/04 | remove /messages/1/content/0 |
        anthropic/04 | remove /messages/1/content/0 ; model claude-opus-5 |
        anthropic/04 | model claude-sonnet-5-5 | /messages/1/content/0: this is reasoning of claude-opus-5-5
        "#,
    );
}

#[test]
fn thinking_that_is_not_bound_must_still_come_back_in_the_loop() {
    let mut seen = EarlierReplies::default();
    let first = SentExample::sample("anthropic/02").edited("model claude-opus-5");
    let reply = SentExample::sample("anthropic/04").body["messages"][1]["content"].clone();
    seen.response(&first.request(), reply.as_array().unwrap());
    holds_after(
        &seen,
        r#"
        anthropic/04 | model claude-opus-5 |
        anthropic/04 | model claude-opus-5 ; set /system/0/text "You are kind." |
        anthropic/04 | model claude-opus-5 ; remove /messages/1/content/0 | /messages/1: the thinking of the latest turn does not come back as it was given
        anthropic/04 | model claude-opus-5 ; remove /messages/1/content/0 ; set /messages/- {"role":"assistant","content":"Done."} ; set /messages/- {"role":"user","content":"Thanks."} |
        "#,
    );
}

#[test]
fn one_of_two_thoughts_left_out() {
    let first = SentExample::sample("anthropic/02");
    let second = SentExample::sample("anthropic/04");
    let more = json!([
        {"type": "redacted_thinking", "data": "EmwKAhgBEgy"},
        {"type": "tool_use", "id": "toolu_02", "name": "fs_grep", "input": {}}
    ]);
    let mut seen = EarlierReplies::default();
    let reply = second.body["messages"][1]["content"]
        .as_array()
        .unwrap()
        .clone();
    seen.response(&first.request(), &reply);
    seen.response(&second.request(), more.as_array().unwrap());
    let next = format!(
        "set /messages/- {{\"role\":\"assistant\",\"content\":{more}}} ; set /messages/- \
         {{\"role\":\"user\",\"content\":[{{\"type\":\"tool_result\",\"tool_use_id\":\"toolu_02\"}}]}}"
    );
    let table = format!(
        "anthropic/04 | {next} |\n\
         anthropic/04 | {next} ; remove /messages/1/content/0 ; remove /messages/3/content/0 |\n\
         anthropic/04 | {next} ; remove /messages/3/content/0 | /messages/3: the thinking of the latest \
         turn does not come back as it was given\n\
         anthropic/04 | {next} ; remove /messages/1/content/0 | /messages/3/content/0: the conversation \
         before this block is not the one that it is bound to; /messages/1: the thinking of the latest \
         turn does not come back as it was given"
    );
    holds_after(&seen, &table);
}

#[test]
fn reasoning_of_responses() {
    let seen = replied("openai_responses/01", "openai_responses/03", "/input", 1..4);
    holds_after(
        &seen,
        r#"
        openai_responses/01 | |
        openai_responses/03 | |
        openai_responses/08 | |
        openai_responses/09 | |
        openai_responses/03 | set /input/1/encrypted_content "gAAAAother" | /input/1: the item rs_01 should stand here as it was given; /input/1: no response gave this signature
        openai_responses/03 | remove /input/2/phase | /input/2: the item msg_01 should stand here as it was given
        openai_responses/03 | remove /input/2 | /input/2: the item msg_01 should stand here as it was given
        openai_responses/03 | swap /input/2 /input/3 | /input/2: the item msg_01 should stand here as it was given
        openai_responses/03 | set /input/0/content/0/text "Where?" | /input/1: the conversation before this block is not the one that it is bound to
        openai_responses/03 | set /instructions "Be kind." | /input/1: the conversation before this block is not the one that it is bound to
        openai_responses/03 | model gpt-6-sol | /input/1: this is reasoning of gpt-6.1-sol
        openai_responses/03 | model gpt-6-sol ; remove /input/1 | /input/1: the item msg_01 comes back without its reasoning rs_01; /input/2: the item fc_01 comes back without its reasoning rs_01
        openai_responses/03 | model gpt-6-sol ; remove /input/1 ; remove /input/1/id ; remove /input/2/id |
        "#,
    );
}

#[test]
fn signatures_of_gemini() {
    let seen = replied("gemini/02", "gemini/04", "/contents/1/parts", 0..2);
    holds_after(
        &seen,
        r#"
        gemini/02 | |
        gemini/04 | |
        gemini/04 | set /contents/1/parts/0/thoughtSignature "CiQBother" | /contents/1/parts/0: no response gave this signature
        gemini/04 | set /contents/1/parts/0/thoughtSignature "skip_thought_signature_validator" |
        gemini/04 | set /contents/1/parts/0/functionCall/args/path "crates/b" | /contents/1/parts/0: this is not the content that the signature was given with
        gemini/04 | set /contents/1/parts/1/thoughtSignature "CiQBexampleSignature1==" | /contents/1/parts/1: this is not the content that the signature was given with
        "#,
    );
}

#[test]
fn the_same_ids_in_two_conversations() {
    let mut seen = EarlierReplies::default();
    for (first, later, items, own) in [
        ("anthropic/02", "anthropic/04", "/messages/1/content", 0..4),
        ("openai_responses/01", "openai_responses/03", "/input", 1..4),
    ] {
        for other in ["Other.", "Hm."] {
            let mut reply = SentExample::sample(later)
                .body
                .pointer(items)
                .unwrap()
                .clone();
            reply[0]["thinking"] = json!(other);
            reply[1]["summary"] = json!(other);
            seen.response(
                &SentExample::sample(first).request(),
                &reply.as_array().unwrap()[own.clone()],
            );
        }
        let given = replied(first, later, items, own);
        seen.replies.extend(given.replies);
    }
    holds_after(
        &seen,
        r#"
        anthropic/04 | |
        anthropic/04 | remove /messages/1/content/0 ; model claude-opus-5 |
        openai_responses/03 | |
        openai_responses/03 | swap /input/2 /input/3 | /input/2: the item msg_01 should stand here as it was given
        "#,
    );
}
