//! Final answers that are JSON: no native format in the first request, but in the one that repairs it; and what of a
//! schema an API does not know.

use serde_json::{Value, json};

use super::{
    run::GrownRun,
    side::{SIDES, Side},
};
use aside_model_server::ServedApi;

/// Where the schema of an answer is.
fn schema(side: Side, body: &Value) -> Option<&Value> {
    body.pointer(match side.api {
        ServedApi::Anthropic => "/output_config/format/schema",
        ServedApi::OpenaiResponses => "/text/format/schema",
        ServedApi::OpenaiChat => "/response_format/json_schema/schema",
        ServedApi::Gemini => "/generationConfig/responseJsonSchema",
        ServedApi::Ollama => "/format",
    })
}

#[test]
fn only_the_repair_carries_the_format_and_its_schema_fits_the_api() {
    let wanted = json!({
        "type": "object",
        "properties": {"n": {"const": 1}, "unit": {"enum": ["m", "s"]}},
        "required": ["n", "unit"],
        "additionalProperties": false,
    });
    for side in SIDES {
        let run = GrownRun::new(side.model, "", move |_, number| match number {
            0 => side.says(0, "One metre."),
            _ => side.says(number, r#"{"n":1,"unit":"m"}"#),
        });
        let done = run
            .go(&["--schema", &wanted.to_string(), "--output", "json"])
            .exits(0);
        assert_eq!(
            done.json()["structured"],
            json!({"n": 1, "unit": "m"}),
            "{}",
            side.model
        );
        run.is_clean();
        let bodies = run.bodies();
        assert_eq!(bodies.len(), 2, "{}", side.model);
        assert_eq!(schema(side, &bodies[0]), None, "{}", side.model);
        let sent = schema(side, &bodies[1]).unwrap_or_else(|| panic!("{}", bodies[1]));
        let n = &sent["properties"]["n"];
        // A value of its own is a choice of one where `const` is not known, or is put into words too.
        assert!(
            n["const"] == 1 || n["enum"] == json!([1]),
            "{} {sent}",
            side.model
        );
        assert_eq!(sent["properties"]["unit"]["enum"], json!(["m", "s"]));
    }
}
