//! OpenAI, Gemini, Ollama.

use super::*;

#[test]
fn openai_writes_at_the_end_of_the_input_and_reads_exact_prefixes() {
    let first = "tool.a=500 system.a=500 user.a=100";
    plays(
        ServedApi::OpenaiResponses,
        "gpt-6.1-sol",
        &format!(
            r#"
            0:00  | {first}                                | prompt_cache_key="k" | 0 1100 0
            0:01  | {first} assistant.a=50 user.b=50x40    | prompt_cache_key="k" | 1100 2050 0
            0:02  | {first} user.q=40                      | prompt_cache_key="k" | 1100 40 0
            0:03  | {first} user.q=40                      | prompt_cache_key="k" tool_choice="required" | 1140 0 0
            0:04  | {first}                                | prompt_cache_key="other" | 0 1100 0
            0:05  | {first}                                | prompt_cache_key="k" reasoning={{"effort":"low"}} | 0 1100 0
            0:06  | {first}                                | prompt_cache_key="k" text={{"format":{{"type":"json_object"}}}} | 0 1100 0
            0:07  | {first}                                | prompt_cache_key="k" text={{"format":{{"type":"text"}}}} | 1100 0 0
            0:08  | {first}                                | prompt_cache_key="k" text={{"verbosity":"low"}} | 0 1100 0
            0:09  | {first}                                | prompt_cache_key="k" model="gpt-6-sol" | 0 1100 0
            0:10  | tool.a=500 system.b=500 user.a=100     | prompt_cache_key="k" | 0 1100 0
            0:11  | tool.a=500 user.a=100                  | prompt_cache_key="k" | 0 0 600
            0:12  | {first}                                | prompt_cache_key="k" service_tier="flex" | 0 1100 0
            40:00 | {first}                                | prompt_cache_key="k" | 0 1100 0
            "#
        ),
    );
}

#[test]
fn openai_with_explicit_breakpoints() {
    plays(
        ServedApi::OpenaiResponses,
        "gpt-6.1-sol",
        r#"
        0:00   | system.a=1000 user.a=100* user.b=100    | prompt_cache_options={"mode":"explicit"} | 0 1100 100
        0:01   | system.a=1000 user.a=100 user.c=100     | prompt_cache_options={"mode":"explicit"} | 0 0 1200
        0:02   | system.a=1000 user.a=100* user.c=100    | | 1100 100 0
        0:03   | system.a=1000 user.d=100*12h user.e=100 | | 0 1200 0 long 1100
        600:00 | system.a=1000 user.d=100*12h user.e=100 | | 1100 100 0
        600:01 | system.b=1000 user.d=100*12h            | | 0 1100 0 long 1100
        700:00 | system.b=1000 user.d=100*12h            | | 1100 0 0
        740:00 | system.b=1000 user.d=100*12h            | | 1100 0 0
        "#,
    );
}

#[test]
fn openai_matches_the_latest_eighty_breakpoints_of_a_key() {
    let mut cache = PromptCache::default();
    let mut read = |name: usize, key: &str| {
        let settings = format!("prompt_cache_key=\"{key}\"");
        let body = body(
            ServedApi::OpenaiResponses,
            &format!("user.n{name}=2000"),
            &settings,
        );
        let (ticket, cached) = cache.request(
            ServedApi::OpenaiResponses,
            "gpt-6.1-sol",
            &body,
            Duration::ZERO,
        );
        cache.started(ticket);
        cached.read
    };
    assert_eq!(read(0, "other"), 0);
    for name in 0..80 {
        assert_eq!(read(name, "k"), 0);
    }
    assert_eq!(read(0, "k"), 2000);
    assert_eq!(read(80, "k"), 0);
    assert_eq!(read(0, "k"), 0);
    assert_eq!(read(0, "other"), 2000);
}

#[test]
fn openai_before_writes_were_billed() {
    plays(
        ServedApi::OpenaiResponses,
        "gpt-5.1",
        r#"
        0:00 | system.a=1000 user.a=100            | | 0 0 1100
        0:01 | system.a=1000 user.a=100 user.b=100 | | 1024 0 176
        0:02 | system.a=1000 user.c=100 user.b=100 | | 0 0 1200
        0:03 | system.a=1000 user.a=100            | reasoning={"effort":"low"} | 0 0 1100
        0:04 | system.a=1000 user.a=100            | prompt_cache_key="k" | 0 0 1100
        6:00 | system.a=1000 user.a=100            | | 0 0 1100
        6:01 | system.a=1000 user.a=100            | model="gpt-5.6-sol" | 0 1100 0
        "#,
    );
}

#[test]
fn chat_completions_on_openai_models_and_on_others() {
    plays(
        ServedApi::OpenaiChat,
        "gpt-6.1-sol",
        r#"
        0:00 | tool.a=500 system.a=500 user.a=100                         | | 0 1100 0
        0:01 | tool.a=500 system.a=500 user.a=100 assistant.a=50 user.b=50 | | 1100 100 0
        0:02 | tool.a=500 system.a=500 user.a=100                         | response_format={"type":"json_object"} | 0 1100 0
        0:03 | tool.a=500 system.a=500 user.a=100                         | reasoning_effort="low" | 0 1100 0
        0:04 | tool.a=500 system.a=500 user.a=100                         | verbosity="low" | 0 1100 0
        0:05 | tool.a=500 system.a=500 user.a=100                         | tool_choice="none" | 1100 0 0
        "#,
    );
    plays(
        ServedApi::OpenaiChat,
        "qwen3.5-9b",
        r#"
        0:00 | system.a=50 user.a=30              | | 0 0 80
        9:00 | system.a=50 user.a=30 assistant.a=20 | | 80 0 20
        "#,
    );
}

#[test]
fn gemini_keeps_prefixes_of_4096_tokens() {
    plays(
        ServedApi::Gemini,
        "gemini-4-argon",
        r#"
        0:00 | system.a=2000 tool.a=2000 user.a=95           | | 0 0 4095
        0:01 | system.a=2000 tool.a=2000 user.a=95 user.b=10 | | 0 0 4105
        0:02 | system.a=2000 tool.a=2000 user.a=95 user.b=10 user.c=10 | | 4105 0 10
        0:03 | system.a=2000 tool.a=2000 user.a=95 user.b=10 | toolConfig={"functionCallingConfig":{"mode":"ANY"}} | 4105 0 0
        0:04 | system.a=2000 tool.b=2000 user.a=95 user.b=10 | | 0 0 4105
        "#,
    );
    plays(
        ServedApi::Gemini,
        "gemini-2.5-pro",
        r#"
        0:00 | system.a=2000 user.a=95           | | 0 0 2095
        0:01 | system.a=2000 user.a=95 user.b=10 | | 2095 0 10
        "#,
    );
}

#[test]
fn ollama_reuses_the_last_request_of_a_model() {
    plays(
        ServedApi::Ollama,
        "qwen3.5:9b",
        r#"
        0:00 | tool.a=30 system.a=20 user.a=20              | | 0 0 70
        0:01 | tool.a=30 system.a=20 user.a=20 assistant.a=20 | | 70 0 20
        0:02 | system.a=20 user.a=20                        | model="llama4" | 0 0 40
        0:03 | tool.a=30 system.a=20 user.b=20              | | 50 0 20
        0:04 | tool.a=30 system.a=20 user.a=20              | | 50 0 20
        0:05 | tool.b=30 system.a=20 user.a=20              | | 0 0 70
        0:06 | system.a=20 user.a=20                        | model="llama4" | 40 0 0
        "#,
    );
}
