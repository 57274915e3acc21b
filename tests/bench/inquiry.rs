//! What a question costs that a model answers: `cargo bench --bench inquiry`. Prints tokens and US dollars; they are
//! reckoned by the server from the bodies of real requests, and the log has to agree.
//!
//! A token is four bytes here. The conversation has 95,000 of them, and its last request is cached.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

#[path = "../it/open.rs"]
mod open;
#[path = "../it/cost/scene.rs"]
mod scene;
#[path = "../it/world.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod world;

use scene::{Bill, CostCase, LONG, Prelude, play};

/// Models of turns, and the assistant that answers where another model does.
const MODELS: [(&str, &str); 5] = [
    ("anthropic/claude-opus-5", "anthropic/claude-haiku-5-5"),
    ("anthropic/claude-opus-5-5", "anthropic/claude-haiku-5-5"),
    ("anthropic/claude-sonnet-5-5", "anthropic/claude-haiku-5-5"),
    ("openai/gpt-6.1-sol", "openai/gpt-6-luna"),
    ("google/gemini-4-argon", "openai/gpt-6-luna"),
];

fn main() {
    println!(
        "{:<18} {:<30} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>9} | {:>20}",
        "model",
        "strategy",
        "questions",
        "requests",
        "cached",
        "read",
        "written",
        "new",
        "$",
        "the turn then pays $"
    );
    for (model, assistant) in MODELS {
        for questions in [1, 3, 10] {
            let ways = [
                ("in_band", None),
                ("forced_tool", None),
                ("structured", None),
                ("structured", Some(assistant)),
            ];
            for (strategy, assistant) in ways {
                let case = CostCase {
                    before: LONG,
                    model,
                    strategy,
                    assistant,
                    questions,
                    breaks: 0,
                    answers: true,
                };
                line(case, &play(case));
            }
        }
    }
    for (model, _) in MODELS {
        for questions in [1, 3, 10] {
            let bill = play(CostCase {
                before: LONG,
                model,
                strategy: "auto",
                assistant: None,
                questions,
                breaks: 0,
                answers: false,
            });
            let asked: f64 = bill.inquiries().iter().map(|paid| paid.dollars).sum();
            println!(
                "{model:<30} {questions:>2} never answered: {:>5.2} steps   (wanted: 4 at most; was 27.5)",
                asked / bill.after().dollars
            );
        }
    }
    let before = Prelude {
        steps: 58,
        lines: 1,
        instructions: 0,
    };
    let bill = play(CostCase {
        before,
        model: MODELS[0].0,
        strategy: "in_band",
        assistant: None,
        questions: 3,
        breaks: 0,
        answers: true,
    });
    println!(
        "\n{} connection for a turn of {} steps with {} inquiry   (wanted: 1)",
        bill.connections,
        bill.own().len(),
        bill.inquiries().len()
    );
}

fn line(case: CostCase<'_>, bill: &Bill) {
    let inquiries = bill.inquiries();
    let name = |model: &str| model.rsplit('/').next().unwrap_or_default().to_owned();
    let on = case
        .assistant
        .map_or_else(String::new, |model| format!(" on {}", name(model)));
    let sum =
        |tokens: fn(&scene::Paid) -> u64| -> u64 { inquiries.iter().copied().map(tokens).sum() };
    println!(
        "{:<18} {:<30} {:>9} {:>8} {:>9} {:>9} {:>9} {:>8} {:>9.5} | {:>20.5}",
        name(case.model),
        format!("{}{on}", case.strategy),
        case.questions,
        inquiries.len(),
        bill.before().input(),
        sum(|paid| paid.cached.read),
        sum(|paid| paid.cached.written),
        sum(|paid| paid.cached.new),
        inquiries.iter().map(|paid| paid.dollars).sum::<f64>(),
        bill.after().dollars,
    );
}
