//! The streams are the samples, byte for byte: where a sample differs in an id or an amount, the test says so.

use serde_json::Value;

use super::tests::data;
use super::*;

/// A sample of an API.
macro_rules! sample {
    ($path:literal) => {
        include_str!(concat!("../../wire/", $path))
    };
}

const BINDING: &str = "the conversation so far";

fn signed(api: ServedApi, index: usize) -> String {
    signature(api, BINDING, index)
}

fn grep(id: &str, arguments: impl Into<PlayedPieces>) -> ReplyItem {
    ReplyItem::call(id, "fs_grep", arguments)
}

/// The reply as the API streams it.
fn played(play: &ModelReply, api: ServedApi) -> String {
    String::from_utf8(play.stream(api).to_vec()).expect("text")
}

fn tokens(cache: [u64; 3], output: u64, reasoning: u64) -> PlayedTokens {
    let [input, cache_read, cache_write] = cache;
    PlayedTokens {
        input,
        cache_read,
        cache_write,
        output,
        reasoning,
    }
}

/// The sample with some texts replaced; each of them must be in it.
fn with(sample: &str, replaced: &[(&str, &str)]) -> String {
    replaced.iter().fold(sample.to_owned(), |text, (from, to)| {
        assert!(text.contains(from), "the sample has no {from}");
        text.replace(from, to)
    })
}

/// The events of a server-sent stream, or the lines of the other, without those that hold `left_out`.
fn events(text: &str, left_out: &str) -> Vec<String> {
    let separator = if text.contains("\n\n") { "\n\n" } else { "\n" };
    text.split(separator)
        .filter(|event| left_out.is_empty() || !event.contains(left_out))
        .map(str::to_owned)
        .collect()
}

#[track_caller]
fn assert_same(play: &ModelReply, api: ServedApi, sample: &str) {
    assert_same_without(play, api, sample, "");
}

#[track_caller]
fn assert_same_without(play: &ModelReply, api: ServedApi, sample: &str, left_out: &str) {
    let played = played(play, api);
    assert_eq!(events(&played, left_out), events(sample, left_out));
}

#[test]
fn anthropic_thinks_speaks_and_calls_two_tools_as_in_its_sample() {
    let play = ModelReply::new(BINDING)
        .reasoning(["The user wants the parser. ", "Search two places."])
        .text(["Looking in both crates."])
        .say(grep(
            "toolu_01AAA",
            [
                r#"{"path": "crates/a""#,
                r#", "pattern": "retry_af"#,
                r#"ter"}"#,
            ],
        ))
        .say(grep(
            "toolu_01BBB",
            [r#"{"path": "crates/b", "pattern": "retry_after"}"#],
        ))
        .tokens(tokens([12, 0, 3310], 231, 118));
    let sample = with(
        sample!("anthropic/03_stream_thinking_text_two_tools.sse"),
        &[
            ("msg_01A", "msg_01"),
            (
                "EuMCexampleSignatureOpaqueBase64AAAA==",
                &signed(ServedApi::Anthropic, 0),
            ),
        ],
    );
    assert_same(&play, ServedApi::Anthropic, &sample);
}

/// What the usage of a sample lacks, the stream repeats.
fn anthropic_usage(output: u64) -> String {
    format!(
        r#""usage":{{"input_tokens":12,"cache_creation_input_tokens":3310,"cache_read_input_tokens":0,"output_tokens":{output},"output_tokens_details":{{"thinking_tokens":0}}}}"#
    )
}

#[test]
fn anthropic_stops_for_other_reasons_as_in_its_samples() {
    let refusal = ModelReply::new(BINDING)
        .text(["To begin"])
        .finish(PlayedFinish::Refusal("Declined under usage policy.".into()))
        .tokens(tokens([12, 0, 3310], 3, 0));
    let sample = with(
        sample!("anthropic/06_stream_refusal_midway.sse"),
        &[
            ("msg_01C", "msg_01"),
            (r#""usage":{"output_tokens":3}"#, &anthropic_usage(3)),
        ],
    );
    assert_same_without(&refusal, ServedApi::Anthropic, &sample, "event: ping");

    let truncated = ModelReply::new(BINDING)
        .say(grep("toolu_01TRUNC", [r#"{"path": "cra"#, r#"tes/a"}"#]))
        .finish(PlayedFinish::MaxTokens)
        .tokens(tokens([12, 0, 3310], 64, 0));
    let sample = with(
        sample!("anthropic/09_stream_max_tokens_truncated_tool.sse"),
        &[
            ("msg_01F", "msg_01"),
            (r#""usage":{"output_tokens":64}"#, &anthropic_usage(64)),
        ],
    );
    assert_same_without(&truncated, ServedApi::Anthropic, &sample, "event: ping");

    let overloaded = ModelReply::new(BINDING)
        .text(["Partial"])
        .text("never said")
        .error_inside(1, PlayedFault::Overloaded)
        .tokens(tokens([12, 0, 3310], 0, 0));
    let sample = with(
        sample!("anthropic/07_stream_error_overloaded.sse"),
        &[("msg_01D", "msg_01"), ("req_011EX", "req_01")],
    );
    assert_same_without(&overloaded, ServedApi::Anthropic, &sample, "event: ping");
}

#[test]
fn anthropic_omits_and_redacts_thinking_as_in_its_sample() {
    let play = ModelReply::new(BINDING)
        .reasoning("")
        .say(ReplyItem::HiddenReasoning)
        .text(["Done."])
        .tokens(tokens([4, 3400, 0], 90, 80));
    let sample = with(
        sample!("anthropic/05_stream_omitted_and_redacted_thinking.sse"),
        &[
            (
                "EuMCexampleSignatureOpaqueBase64AAAA==",
                &signed(ServedApi::Anthropic, 0),
            ),
            (
                "EmwKAhgBexampleRedacted==",
                &signed(ServedApi::Anthropic, 1),
            ),
        ],
    );
    // In the sample the message begins with another amount of input than it ends with.
    let begins =
        r#""input_tokens":12,"cache_creation_input_tokens":3310,"cache_read_input_tokens":0"#;
    let ends = r#""input_tokens":4,"cache_creation_input_tokens":0,"cache_read_input_tokens":3400"#;
    let written = |amount: u64| format!(r#""ephemeral_5m_input_tokens":{amount}"#);
    let sample = with(
        &sample,
        &[
            (begins, ends),
            (&written(3310), &written(0)),
            ("msg_01B", "msg_01"),
        ],
    );
    assert_same_without(&play, ServedApi::Anthropic, &sample, "event: ping");
}

#[test]
fn responses_reason_speak_and_call_as_in_their_sample() {
    let play = ModelReply::new(BINDING)
        .reasoning(["**Locating the parser**\n\n", "Search crates."])
        .text(["Look", "ing."])
        .say(grep(
            "call_A1",
            [r#"{"path":"crates/a","#, r#""pattern":"retry_after"}"#],
        ))
        .tokens(tokens([3, 4064, 20], 154, 96));
    let encrypted = signed(ServedApi::OpenaiResponses, 0);
    let sample = with(
        sample!("openai_responses/02_stream_reasoning_message_tool.sse"),
        &[
            ("rs_01", "rs_01_0"),
            ("\"msg_01\"", "\"msg_01_1\""),
            ("fc_01", "fc_01_2"),
            ("gAAAAexampleFINAL", &encrypted),
            (
                "gAAAApartialDONOTUSE",
                &format!("{}partial", &encrypted[..24]),
            ),
        ],
    );
    assert_same(&play, ServedApi::OpenaiResponses, &sample);
}

/// The samples of short streams leave `response.in_progress` out, and so count otherwise.
fn uncounted(text: &str) -> Vec<String> {
    let event = |event: String| match event.rfind(",\"sequence_number\":") {
        Some(at) => event[..at].to_owned(),
        None => event,
    };
    events(text, "event: response.in_progress")
        .into_iter()
        .map(event)
        .collect()
}

#[test]
fn responses_end_for_other_reasons_as_in_their_samples() {
    let amounts = tokens([3, 4064, 20], 154, 96);
    let cases = [
        (
            ModelReply::new(BINDING)
                .say(grep("call_A1", [r#"{"pat"#, r#"h":"crates/a"}"#]))
                .finish(PlayedFinish::MaxTokens),
            with(
                sample!("openai_responses/04_stream_incomplete.sse"),
                &[("fc_01", "fc_01_0")],
            ),
        ),
        (
            ModelReply::new(BINDING).error_inside(0, PlayedFault::Server),
            sample!("openai_responses/05_stream_failed.sse").to_owned(),
        ),
        (
            ModelReply::new(BINDING).error_inside(0, PlayedFault::RateLimited),
            sample!("openai_responses/06_stream_error_event.sse").to_owned(),
        ),
        (
            ModelReply::new(BINDING)
                .finish(PlayedFinish::Refusal("I can't help with that.".into())),
            with(
                sample!("openai_responses/07_stream_refusal.sse"),
                &[("msg_02", "msg_01_0")],
            ),
        ),
    ];
    for (play, sample) in cases {
        let play = play.tokens(amounts);
        let played = played(&play, ServedApi::OpenaiResponses);
        let one_delta = joined_refusal(uncounted(&played));
        assert_eq!(one_delta, uncounted(&sample));
    }
}

/// The refusal of the sample comes in one delta.
fn joined_refusal(events: Vec<String>) -> Vec<String> {
    let delta = |event: &str| event.starts_with("event: response.refusal.delta");
    let whole = events
        .iter()
        .find(|event| event.starts_with("event: response.refusal.done"));
    let Some(whole) = whole.cloned() else {
        return events;
    };
    let joined = whole
        .replace("refusal.done", "refusal.delta")
        .replace("\"refusal\":", "\"delta\":");
    let first = events
        .iter()
        .position(|event| delta(event))
        .expect("a delta");
    let mut events: Vec<String> = events.into_iter().filter(|event| !delta(event)).collect();
    events.insert(first, joined);
    events
}

#[test]
fn chat_completions_call_two_tools_as_in_their_sample() {
    let play = ModelReply::new(BINDING)
        .say(grep(
            "call_A1",
            [r#"{"path":"crates/a","#, r#""pattern":"x"}"#],
        ))
        .say(grep("call_B2", [r#"{"path":"crates/b","pattern":"x"}"#]))
        .tokens(tokens([44, 768, 0], 61, 0));
    assert_same(
        &play,
        ServedApi::OpenaiChat,
        sample!("openai_chat/02_stream_two_tools.sse"),
    );
}

#[test]
fn servers_of_chat_completions_show_reasoning_as_in_their_samples() {
    let llama = ModelReply::new(BINDING)
        .reasoning(["Need", " to search."])
        .say(grep("abc123", ["{", r#""path":".","pattern":"x"}"#]))
        .tokens(tokens([27, 3000, 0], 95, 0))
        .chat_server(ChatServer::LlamaCpp);
    let sample = with(
        sample!("openai_chat/07_stream_llamacpp.sse"),
        &[("chatcmpl-lc", "chatcmpl-01")],
    );
    assert_same(&llama, ServedApi::OpenaiChat, &sample);

    let vllm = ModelReply::new(BINDING)
        .reasoning(["9.11 < 9.8"])
        .text(["9.8"])
        .chat_server(ChatServer::Vllm);
    assert_same(
        &vllm,
        ServedApi::OpenaiChat,
        sample!("openai_chat/08_stream_vllm_reasoning.sse"),
    );
}

#[test]
fn chat_completions_break_with_an_error_as_in_their_sample() {
    let play = ModelReply::new(BINDING)
        .text(["Par"])
        .error_inside(1, PlayedFault::Server);
    let played = played(&play, ServedApi::OpenaiChat);
    let sample = sample!("openai_chat/10_stream_inline_error.sse");
    // The sample opens with the text at once.
    assert_eq!(events(&played, "Par").last(), events(sample, "Par").last());
    assert_eq!(events(&played, "").len(), events(sample, "").len() + 1);
    assert_eq!(events(&played, "")[2], events(sample, "")[1]);
}

#[test]
fn gemini_thinks_and_calls_side_by_side_as_in_its_sample() {
    let play = ModelReply::new(BINDING)
        .reasoning(["**Searching**\n\n"])
        .say(grep(
            "fc-1",
            r#"{"path":"crates/a","pattern":"retry_after"}"#,
        ))
        .say(grep(
            "fc-2",
            r#"{"path":"crates/b","pattern":"retry_after"}"#,
        ))
        .tokens(tokens([104, 4096, 0], 104, 60));
    let sample = with(
        sample!("gemini/03_stream_thought_and_parallel_calls.sse"),
        &[("CiQBexampleSignature1==", &signed(ServedApi::Gemini, 0))],
    );
    assert_same(&play, ServedApi::Gemini, &sample);
}

#[test]
fn gemini_ends_as_in_its_other_samples() {
    let amounts = tokens([104, 4096, 0], 104, 60);
    // The last usage of these samples is that of the chunks before.
    let first = r#""totalTokenCount":4260,"thoughtsTokenCount":60"#;
    let last = r#""candidatesTokenCount":44,"thoughtsTokenCount":60,"totalTokenCount":4304"#;
    let text = ModelReply::new(BINDING)
        .text(["It is in ", "error.rs."])
        .tokens(amounts);
    let sample = with(
        sample!("gemini/05_stream_text_signature_on_empty_part.sse"),
        &[("CiQBexampleSignature2==", &signed(ServedApi::Gemini, 0))],
    );
    let (before, end) = sample.split_at(sample.rfind(first).expect("usage"));
    assert_same(
        &text,
        ServedApi::Gemini,
        &format!("{before}{}", with(end, &[(first, last)])),
    );

    let blocked = ModelReply::new(BINDING)
        .finish(PlayedFinish::ContentFilter)
        .tokens(tokens([30, 0, 0], 0, 0))
        .number(2);
    assert_same(
        &blocked,
        ServedApi::Gemini,
        sample!("gemini/06_stream_prompt_blocked.sse"),
    );

    let malformed = ModelReply::new(BINDING)
        .say(grep("fc-1", "{}"))
        .finish(PlayedFinish::MalformedCall)
        .tokens(tokens([30, 0, 0], 0, 0));
    let played = data(&malformed, ServedApi::Gemini);
    let sample: Value = serde_json::from_str(
        sample!("gemini/07_stream_malformed_call.sse").trim_start_matches("data: "),
    )
    .expect("JSON");
    assert_eq!(played.len(), 1, "the call itself is missing");
    let (played, sample) = (&played[0]["candidates"][0], &sample["candidates"][0]);
    assert_eq!(played["content"], sample["content"]);
    assert_eq!(played["finishReason"], sample["finishReason"]);

    let paused = ModelReply::new(BINDING)
        .text("long")
        .finish(PlayedFinish::Pause);
    let last = data(&paused, ServedApi::Gemini).pop().expect("a chunk");
    assert_eq!(last["candidates"][0]["finishReason"], "CONTINUATION");
    assert!(last["candidates"][0]["continuationToken"].is_string());
}

#[test]
fn gemini_breaks_with_a_bare_error_over_several_lines() {
    let play = ModelReply::new(BINDING)
        .text(["Par"])
        .error_inside(1, PlayedFault::Overloaded);
    let text = played(&play, ServedApi::Gemini);
    let (events, error) = text
        .split_once("\n\n{\n")
        .expect("an error on lines of its own");
    assert!(events.starts_with("data: {") && !error.contains("data:"));
    let error: Value = serde_json::from_str(&format!("{{{error}")).expect("JSON");
    assert_eq!(error["error"]["status"], "UNAVAILABLE");
}

#[test]
fn ollama_thinks_and_calls_as_in_its_sample() {
    let play = ModelReply::new(BINDING)
        .reasoning(["Need", " to search."])
        .say(grep("call_8k2", r#"{"path":"crates/a","pattern":"x"}"#))
        .say(grep("call_9m1", r#"{"path":"crates/b","pattern":"x"}"#))
        .tokens(tokens([58, 0, 0], 39, 0));
    let sample = sample!("ollama/02_stream_thinking_tools.ndjson");
    // The sample names the fields of a thinking line in the same order.
    assert_same(&play, ServedApi::Ollama, sample);
}

#[test]
fn ollama_ends_as_in_its_other_samples() {
    let broken = ModelReply::new(BINDING)
        .text([" Yes"])
        .error_inside(1, PlayedFault::Server);
    assert_same(
        &broken,
        ServedApi::Ollama,
        sample!("ollama/04_stream_error.ndjson"),
    );

    let durations = [
        r#","total_duration":36119863291,"load_duration":109119375"#,
        r#","prompt_eval_duration":246789208"#,
        r#","eval_duration":1366582209"#,
    ];
    let cut = ModelReply::new(BINDING)
        .text(["cut"])
        .finish(PlayedFinish::MaxTokens)
        .tokens(tokens([4096, 0, 0], 10, 0));
    let played = played(&cut, ServedApi::Ollama);
    let played = with(&played, &durations.map(|duration| (duration, "")));
    assert_eq!(played, sample!("ollama/06_stream_length.ndjson"));
}
