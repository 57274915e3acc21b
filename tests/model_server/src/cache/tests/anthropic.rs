//! Anthropic.

use super::*;

fn opus(table: &str) {
    plays(ServedApi::Anthropic, "claude-opus-5-5", table);
}

#[test]
fn a_conversation_reads_what_it_wrote() {
    opus(
        r#"
        0:00 | tool.a=600 system.a=400* user.a=100*                                            | | 0 1100 0
        0:10 | tool.a=600 system.a=400* user.a=100 assistant.a=50 user.b=30*                   | | 1100 80 0
        0:20 | tool.a=600 system.a=400* user.a=100 assistant.a=50 user.b=30 assistant.b=20     | | 1000 0 200
        0:30 | tool.a=600 system.a=400* user.a=100 assistant.a=50 user.b=30* user.q=40         | | 1180 0 40
        0:40 | tool.a=600 system.a=400* user.z=100*                                            | | 1000 100 0
        "#,
    );
}

#[test]
fn the_automatic_breakpoint_moves_to_the_last_block_that_may_have_one() {
    opus(
        r#"
        0:00 | tool.a=600 user.a=100                                     | cache_control={"type":"ephemeral"} | 0 700 0
        0:10 | tool.a=600 user.a=100 assistant.a=50 user.b=30            | cache_control={"type":"ephemeral"} | 700 80 0
        0:20 | tool.a=600 user.a=100 assistant.a=50 user.b=30 thinking.a=20 | cache_control={"type":"ephemeral"} | 780 0 20
        0:30 | tool.a=600 user.a=100 assistant.a=50 user.b=30*           | cache_control={"type":"ephemeral"} | 780 0 0
        "#,
    );
}

#[test]
fn a_read_looks_back_twenty_blocks() {
    opus(
        r#"
        0:00 | tool.a=600 user.a=100*                     | | 0 700 0
        0:01 | tool.a=600 user.a=100 user.b=10x19*        | | 700 190 0
        0:02 | tool.a=600 user.a=100 user.c=10x20         | | 0 0 900
        0:03 | tool.a=600 user.a=100 user.c=10x20 user.d=10* | | 0 910 0
        0:04 | tool.a=600 user.a=100* user.e=10x20 user.d=10* | | 700 210 0
        "#,
    );
}

#[test]
fn choices_lose_messages_and_formats_lose_the_system_too() {
    let prefix = "tool.a=600* system.a=400* user.a=100*";
    opus(&format!(
        r#"
        0:00 | {prefix} | | 0 1100 0
        0:01 | {prefix} | tool_choice={{"type":"auto"}} | 1100 0 0
        0:02 | {prefix} | tool_choice={{"type":"any"}} | 1000 100 0
        0:03 | {prefix} | tool_choice={{"type":"auto","disable_parallel_tool_use":true}} | 1000 100 0
        0:04 | {prefix} | thinking={{"type":"adaptive","display":"summarized"}} | 1100 0 0
        0:05 | {prefix} | thinking={{"type":"disabled"}} | 1000 100 0
        0:06 | {prefix} | output_config={{"effort":"medium"}} | 1100 0 0
        0:07 | {prefix} | output_config={{"effort":"low"}} | 1000 100 0
        0:08 | {prefix} | output_config={{"format":{{"type":"json_schema","schema":{{}}}}}} | 600 500 0
        0:09 | {prefix} | output_config={{"format":{{"type":"json_schema","schema":{{}}}}}} | 1100 0 0
        0:10 | {prefix} | speed="fast" | 600 500 0
        0:11 | {prefix} | model="claude-sonnet-5-5" | 0 1100 0
        0:12 | {prefix} | max_tokens=1 metadata={{"user_id":"u"}} stream=true | 1100 0 0
        0:13 | {prefix} image.a=50 | | 1000 100 50
        0:14 | tool.a=600* tool.b=10 system.a=400* user.a=100* | | 0 1110 0
        0:15 | tool.b=600* system.a=400* user.a=100* | | 0 1100 0
        "#
    ));
}

#[test]
fn names_and_budgets_are_part_of_the_choice() {
    let prefix = "tool.a=3000 system.a=2000* user.a=100*";
    plays(
        ServedApi::Anthropic,
        "claude-opus-4-6",
        &format!(
            r#"
            0:00 | {prefix} | tool_choice={{"type":"tool","name":"a"}} | 0 5100 0
            0:01 | {prefix} | tool_choice={{"type":"tool","name":"b"}} | 5000 100 0
            0:02 | {prefix} | tool_choice={{"type":"tool","name":"a"}} | 5100 0 0
            0:03 | {prefix} | thinking={{"type":"enabled","budget_tokens":2000}} | 5000 100 0
            0:04 | {prefix} | thinking={{"type":"enabled","budget_tokens":3000}} | 5000 100 0
            0:05 | {prefix} | thinking={{"type":"enabled","budget_tokens":2000}} | 5100 0 0
            0:06 | {prefix} | thinking={{"type":"disabled"}} | 5000 100 0
            0:07 | {prefix} | | 5100 0 0
            "#
        ),
    );
}

#[test]
fn the_later_of_two_writes_decides_how_long_an_entry_lives() {
    let body = body(ServedApi::Anthropic, "system.a=1000*", "");
    let ask = |cache: &mut PromptCache, when| {
        cache.request(ServedApi::Anthropic, "claude-opus-5-5", &body, time(when))
    };
    let mut cache = PromptCache::default();
    let (first, _) = ask(&mut cache, "0:00");
    let (second, _) = ask(&mut cache, "0:10");
    cache.started(second);
    cache.started(first);
    assert_eq!(shown(ask(&mut cache, "5:09").1), "1000 0 0");
}

#[test]
fn an_entry_lives_five_minutes_from_the_start_of_its_last_use() {
    opus(
        r#"
        0:00  | system.a=1000* | | 0 1000 0
        4:59  | system.a=1000* | | 1000 0 0
        9:58  | system.a=1000* | | 1000 0 0
        14:58 | system.a=1000* | | 0 1000 0
        "#,
    );
}

#[test]
fn an_entry_of_one_hour() {
    opus(
        r#"
        0:00   | system.a=1000*1h user.a=100* | | 0 1100 0 long 1000
        30:00  | system.a=1000*1h user.a=100* | | 1000 100 0
        89:59  | system.a=1000*1h user.a=100* | | 1000 100 0
        149:59 | system.a=1000*1h user.a=100* | | 0 1100 0 long 1000
        "#,
    );
}

#[test]
fn below_the_least_prefix_nothing_is_cached() {
    opus(
        r#"
        0:00 | system.a=511* | | 0 0 511
        0:01 | system.a=511* | | 0 0 511
        0:02 | system.b=512* | | 0 512 0
        0:03 | system.b=512* | model="claude-sonnet-5" | 0 0 512
        0:04 | system.c=1024* | model="claude-sonnet-5" | 0 1024 0
        0:05 | system.c=1024* | model="claude-opus-4-7" | 0 0 1024
        0:06 | system.d=4095* | model="claude-haiku-4-5" | 0 0 4095
        0:07 | system.d=4096* | model="claude-haiku-4-5" | 0 4096 0
        "#,
    );
}

#[test]
fn an_entry_can_be_read_once_its_response_has_started() {
    opus(
        r#"
        0:00      | system.a=1000* user.a=10 | | 0 1000 10
        then 0:00 | system.a=1000* user.b=10 | | 0 1000 10
        0:01      | system.a=1000* user.c=10 | | 1000 0 10
        0:02      | system.b=1000* user.a=10 | fails | 0 1000 10
        0:03      | system.b=1000* user.a=10 | | 0 1000 10
        "#,
    );
}

#[test]
fn without_breakpoints_nothing_is_cached() {
    opus(
        r#"
        0:00 | system.a=1000 user.a=10 | | 0 0 1010
        0:01 | system.a=1000 user.a=10 | | 0 0 1010
        "#,
    );
}
