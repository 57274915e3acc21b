//! What a job of 300 steps and 400,000 tokens costs with summaries and without, and whether one of 500 steps of 100 KB fits
//! into 200,000 tokens: `cargo bench --bench compaction`. Prints US dollars; they are reckoned by the server from the
//! bodies of real requests, which may not pass the window, and the log has to agree. The last columns are the least that
//! came from the cache: of the conversation in a summary, of tools and system text in the next request, and of that one in
//! the one after it. Last, what three steps cost a day later, when no cache knows the conversation: with the outputs of old
//! calls left out, and with all of them.
//!
//! A token is four bytes here. The next request has tools and system text in common with the one before, about 2,050 tokens
//! in this job, and nothing else. Anthropic reads these, because there is a breakpoint behind them. The others read nothing,
//! by the rules of their caches: Gemini keeps no prefix of fewer than 4,096 tokens, and with longer instructions it reads
//! these too (a test in `tests/it/cost.rs` has such). OpenAI matches up to a breakpoint, and only a part of the input can have
//! one, never the end of `instructions`. System text as the first part of the input would have one, in another shape of the
//! request; it would save half a cent for each summary with gpt-6.1-sol.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

#[path = "../it/cost/job.rs"]
mod job;
#[path = "../it/open.rs"]
mod open;
#[path = "../it/cost/scene.rs"]
#[expect(
    dead_code,
    reason = "the questions of this scene are another benchmark's"
)]
mod scene;
#[path = "../it/world.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod world;

use job::{Job, JobRequest, cost, go_on, play};

const MODELS: [&str; 7] = [
    "anthropic/claude-opus-5",
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-5-5",
    "anthropic/claude-haiku-5-5",
    "openai/gpt-6.1-sol",
    "openai/gpt-6-luna",
    "google/gemini-4-argon",
];

fn main() {
    println!(
        "{:<30} {:>9} {:>9} {:>7}   {:>9} {:>9}   {:>8} {:>8} {:>8}",
        "model", "with $", "without $", "share", "summaries", "$ each", "summary", "next", "later"
    );
    for model in MODELS {
        let job = Job {
            model,
            steps: 300,
            lines: 53,
            instructions: 0,
            window: 120_000,
            compaction: "auto",
        };
        let with = play(job);
        let without = play(Job {
            window: 1_000_000,
            compaction: "off",
            ..job
        });
        line(model, &with, cost(&without));
    }
    for model in MODELS {
        large(model);
    }
    for model in MODELS {
        cold(model);
    }
}

/// A turn that reads 500 files of 100 KB, in a window of 200,000 tokens.
fn large(model: &str) {
    let requests = play(Job {
        model,
        steps: 500,
        lines: 1_000,
        instructions: 0,
        window: 200_000,
        compaction: "auto",
    });
    let summaries = requests.iter().filter(|request| request.summary).count();
    let most = requests.iter().map(JobRequest::input).max().unwrap_or(0);
    println!(
        "{model:<30} 500 steps of 100 KB: {summaries} summaries, at most {most} of 200000 tokens, $ {:.2}",
        cost(&requests)
    );
}

/// A turn of three steps, a day after one that read 80 files: with old outputs left out, and without that.
fn cold(model: &str) {
    let job = Job {
        model,
        steps: 80,
        lines: 53,
        instructions: 0,
        window: 1_000_000,
        compaction: "auto",
    };
    let (with, without) = (go_on(job, 3, true), go_on(job, 3, false));
    let first = |requests: &[JobRequest]| requests.first().map_or(0, JobRequest::input);
    let (with_cost, without_cost) = (cost(&with), cost(&without));
    println!(
        "{model:<30} gone on with a day later: {} of {} tokens, $ {with_cost:.4} of {without_cost:.4}, {:.0} %",
        first(&with),
        first(&without),
        100.0 * with_cost / without_cost
    );
}

fn line(model: &str, with: &[JobRequest], without: f64) {
    let summaries = with.iter().filter(|request| request.summary);
    let summaries: Vec<JobRequest> = summaries.copied().collect();
    let count = summaries.len().max(1);
    let all = cost(with);
    let [summary, next, later] = cached(with);
    println!(
        "{model:<30} {all:>9.2} {without:>9.2} {:>5.0} %   {:>9} {:>9.3}   {summary:>6.1} % {next:>6.1} % {later:>6.1} %",
        100.0 * all / without,
        summaries.len(),
        cost(&summaries) / count as f64,
    );
}

/// The least that came from the cache, in per cent: of the conversation in a summary, of tools and system text in the
/// request after it, and of that request in the one after that.
fn cached(requests: &[JobRequest]) -> [f64; 3] {
    let mut least = [100.0_f64; 3];
    let first = requests.first().map_or(0, JobRequest::input);
    for four in requests.windows(4).filter(|four| four[1].summary) {
        let shares = [
            (four[1].cached.read, four[0].input()),
            (four[2].cached.read, first),
            (four[3].cached.read, four[2].input()),
        ];
        for (least, (read, of)) in least.iter_mut().zip(shares) {
            *least = least.min(100.0 * read as f64 / of.max(1) as f64);
        }
    }
    least
}
