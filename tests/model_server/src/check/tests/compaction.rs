//! Summaries of the providers' own.

use super::*;

const ASKS: &str =
    "header anthropic-beta compact-2026-09-04 ; set /compaction {\"type\":\"summarize\"}";
const BLOCK: &str = r###"{"type":"compaction","content":"## Goal","signature":"ErX","encrypted_content":null,"tool_changes":[]}"###;
const ITEM: &str = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"gAAAAABsum"}"#;

/// Holds lines in which `ASKS`, `BLOCK`, `ITEM` and `BETA` stand for what they are named after.
fn holds_named(seen: &EarlierReplies, table: &str) {
    let table = table
        .replace("ASKS", ASKS)
        .replace("BLOCK", BLOCK)
        .replace("ITEM", ITEM)
        .replace("BETA", "header anthropic-beta compact-2026-09-04");
    holds_after(seen, &table);
}

/// A summary that answers a sample.
fn summarised(sample: &str, edits: &str, summary: &str) -> EarlierReplies {
    let mut seen = EarlierReplies::default();
    let asked = SentExample::sample(sample).edited(edits);
    seen.response(&asked.request(), &[serde_json::from_str(summary).unwrap()]);
    seen
}

#[test]
fn asking_anthropic() {
    holds_named(
        &EarlierReplies::default(),
        r#"
        anthropic/04 | ASKS |
        anthropic/04 | ASKS ; header anthropic-beta other | /compaction: this needs the beta compact-2026-09-04
        anthropic/04 | ASKS ; set /compaction/instructions "Short." |
        anthropic/04 | ASKS ; set /compaction/type "forget" | /compaction: `type` must be summarize
        anthropic/04 | ASKS ; set /stop_sequences ["x"] | /compaction: this does not go with `stop_sequences`
        anthropic/04 | ASKS ; set /context_management {} | /compaction: this does not go with `context_management`
        anthropic/04 | ASKS ; set /task_budget {"remaining":9} | /compaction: this does not go with `remaining` of a budget
        anthropic/04 | ASKS ; model claude-opus-5 ; set /tool_choice {"type":"any"} | /compaction: this does not go with forced tools
        anthropic/19 | ASKS | /compaction: this does not go with an output format
        anthropic/04 | ASKS ; remove /messages/2 | the call toolu_01AAA has no result; the call toolu_01BBB has no result; /messages/1: the conversation must end with a message of the user
        anthropic/04 | ASKS ; set /messages [{"role":"assistant","content":[BLOCK]}] | /messages: there is nothing to summarise; /messages/0: the conversation must end with a message of the user
        "#,
    );
    let mut long = SentExample::sample("anthropic/04").edited(ASKS);
    long.body["compaction"]["instructions"] = json!("x".repeat(16_385));
    assert_eq!(
        check(&long.request(), &EarlierReplies::default()),
        ["/compaction: `instructions` has more than 16384 characters"]
    );
}

#[test]
fn the_block_of_anthropic() {
    let seen = summarised("anthropic/02", ASKS, BLOCK);
    holds_named(
        &seen,
        r#"
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] |
        anthropic/02 | set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] | /messages/0/content/0: this needs the beta compact-2026-09-04
        anthropic/02 | BETA ; set /messages [{"role":"user","content":"Go on."},{"role":"assistant","content":[BLOCK]},{"role":"user","content":"And?"}] | /messages/1/content/0: a compaction block must be the first of all messages
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK,BLOCK]},{"role":"user","content":"Go on."}] | /messages/0/content/1: there is a compaction block before this one
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] ; set /messages/0/content/0/signature "ErY" | /messages/0/content/0: no response gave this signature
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] ; set /messages/0/content/0/content "Other" | /messages/0/content/0: this is not the content that the signature was given with
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] ; set /messages/0/content/0/cache_control {"type":"ephemeral"} |
        anthropic/02 | BETA ; insert /messages/0 {"role":"assistant","content":[BLOCK]} | /messages/1/content/0: the summary stands for this, and it is sent again
        anthropic/02 | BETA ; set /messages [{"role":"assistant","content":[BLOCK]}] | /messages/0: the conversation must end with a message of the user
        anthropic/02 | BETA ; model claude-opus-5 ; set /messages [{"role":"assistant","content":[BLOCK]},{"role":"user","content":"Go on."}] | /messages/0/content/0: this is a summary of claude-opus-5-5
        "#,
    );
}

#[test]
fn what_follows_the_block_of_anthropic() {
    // The summary stands for the first message; thinking and calls that followed it are kept.
    let mut seen = summarised("anthropic/02", ASKS, BLOCK);
    let kept = SentExample::sample("anthropic/04").body["messages"][1]["content"].clone();
    seen.response(
        &SentExample::sample("anthropic/02").request(),
        kept.as_array().unwrap(),
    );
    holds_named(
        &seen,
        r#"
        anthropic/04 | BETA ; set /messages/0 {"role":"assistant","content":[BLOCK]} ; insert /messages/1 {"role":"user","content":"Ledger"} | /messages/2/content/0: the conversation before this block is not the one that it is bound to
        anthropic/04 | BETA ; set /messages/0 {"role":"assistant","content":[BLOCK]} |
        "#,
    );
    let whole = summarised("anthropic/04", ASKS, BLOCK);
    holds_named(
        &whole,
        r#"
        anthropic/04 | BETA ; set /messages/0 {"role":"assistant","content":[BLOCK]} ; remove /messages/1/content/0 | /messages/1/content/1: the summary stands for this, and it is sent again; /messages/1/content/2: the summary stands for this, and it is sent again
        "#,
    );
}

#[test]
fn responses() {
    let trigger = r#"remove /input/1 ; set /input/- {"type":"compaction_trigger"}"#;
    let seen = summarised("openai_responses/03", trigger, ITEM);
    let table = r#"
        openai_responses/03 | TRIGGER |
        openai_responses/03 | TRIGGER ; set /input/- {"type":"message","role":"user","content":"More."} | /input/4: a compaction_trigger must be the last item
        openai_responses/03 | set /input [{"type":"compaction_trigger"}] | /input: there is nothing to summarise
        openai_responses/03 | remove /input/4 ; TRIGGER | /input: the call call_A1 has no output
        openai_responses/03 | set /input [{"type":"message","role":"user","content":"Where?"},ITEM,{"type":"message","role":"user","content":"Ledger"}] |
        openai_responses/03 | set /input [ITEM,ITEM,{"type":"message","role":"user","content":"Ledger"}] | /input/1: there is a compaction item before this one
        openai_responses/03 | set /input [{"type":"message","role":"assistant","content":[]},ITEM,{"type":"message","role":"user","content":"Ledger"}] | /input/1: only messages of the user may stand before this
        openai_responses/03 | insert /input/0 ITEM ; remove /input/1 ; remove /input/1 ; remove /input/1 | /input/1: the summary stands for this, and it is sent again
        openai_responses/03 | set /input [ITEM,{"type":"message","role":"user","content":"Ledger"}] ; set /input/0/encrypted_content "gAAAAABother" | /input/0: the item cmp_1 should stand here as it was given; /input/0: no response gave this signature
        openai_responses/03 | model gpt-6-sol ; set /input [ITEM,{"type":"message","role":"user","content":"Ledger"}] | /input/0: this is a summary of gpt-6.1-sol
        "#;
    holds_named(&seen, &table.replace("TRIGGER", trigger));
}
