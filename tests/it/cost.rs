//! What questions cost: tokens that are read from the provider's cache, requests, and connections.

mod job;
pub(crate) mod scene;

use job::Job;
use scene::{Bill, CostCase, LONG, Paid, Prelude, play, play_by};

use crate::{models::without_time, world::start};

/// Of each API that says what it cached, models that take a forced tool and that refuse one.
const MODELS: [&str; 5] = [
    "anthropic/claude-opus-5",
    "anthropic/claude-opus-5-5",
    "anthropic/claude-sonnet-5-5",
    "openai/gpt-6.1-sol",
    "google/gemini-4-argon",
];

/// A turn in which no time passes, so that questions that are asked at once go out together on every machine. The
/// test of this name has become the program by then.
fn in_band(test: &str, model: &str, before: Prelude, questions: usize) -> Bill {
    let case = CostCase {
        before,
        model,
        strategy: "in_band",
        assistant: None,
        questions,
        breaks: 0,
        answers: true,
    };
    play_by(case, |world, args, places| {
        let mut program = without_time::command(world, test, args);
        without_time::result(start(program.envs(places)).end())
    })
}

fn reads_what_it_shares(test: &str, model: &str, questions: usize) {
    let bill = in_band(test, model, LONG, questions);
    let shared = bill.before().input();
    assert!(
        (94_000..=96_000).contains(&shared),
        "{model}: {shared} tokens before the questions"
    );
    let inquiries = bill.inquiries();
    let requests = inquiries.len();
    assert_eq!(requests, 1, "{model}: requests for {questions} questions");
    let read = inquiries[0].cached.read;
    assert!(
        read * 100 >= shared * 99,
        "{model}: {read} of {shared} tokens were read from the cache"
    );
    // The step with the calls is new, and the turn's own next request would have paid for it as well.
    let after = bill.after().cached.read;
    assert!(after >= read, "{model}: {after} tokens read afterwards");
}

#[test]
fn a_question_reads_the_conversation_from_the_cache() {
    without_time::become_program();
    for model in MODELS {
        let test = "cost::a_question_reads_the_conversation_from_the_cache";
        reads_what_it_shares(test, model, 1);
    }
}

#[test]
fn ten_questions_at_once_are_one_request() {
    without_time::become_program();
    for model in MODELS {
        reads_what_it_shares("cost::ten_questions_at_once_are_one_request", model, 10);
    }
}

#[test]
fn questions_to_another_model_share_the_conversation_among_themselves() {
    let assistants = ["anthropic/claude-haiku-5-5", "openai/gpt-6-luna"];
    for assistant in assistants {
        let bill = play(CostCase {
            before: LONG,
            model: MODELS[0],
            strategy: "structured",
            assistant: Some(assistant),
            questions: 3,
            breaks: 0,
            answers: true,
        });
        let inquiries = bill.inquiries();
        assert_eq!(inquiries.len(), 3, "{assistant}");
        let first = inquiries[0].input();
        for paid in &inquiries[1..] {
            let read = paid.cached.read;
            assert!(
                read * 100 >= first * 99,
                "{assistant}: {read} of {first} tokens were read from the cache"
            );
        }
    }
}

#[test]
fn a_turn_of_sixty_steps_and_its_inquiries_use_one_connection() {
    without_time::become_program();
    let before = Prelude {
        steps: 58,
        lines: 1,
        instructions: 0,
    };
    for model in MODELS {
        let test = "cost::a_turn_of_sixty_steps_and_its_inquiries_use_one_connection";
        let bill = in_band(test, model, before, 3);
        assert_eq!((bill.own().len(), bill.inquiries().len()), (60, 1));
        assert_eq!(bill.connections, 1, "{model}");
    }
}

/// Two replies to the inquiry and two to the turn's own last request break off behind their first words; the third of
/// each comes whole.
#[test]
fn what_broke_and_was_sent_again_is_paid_for() {
    let before = Prelude {
        steps: 2,
        lines: 314,
        instructions: 52_000,
    };
    let case = CostCase {
        before,
        model: "anthropic/claude-opus-5-5",
        strategy: "in_band",
        assistant: None,
        questions: 1,
        breaks: 2,
        answers: true,
    };
    let (whole, bill) = (play(CostCase { breaks: 0, ..case }), play(case));
    let broken = |of: Vec<&Paid>| of.into_iter().filter(|paid| paid.broken).count();
    for (bill, count) in [(&whole, 0), (&bill, 2)] {
        assert_eq!(broken(bill.inquiries()), count);
        assert_eq!(broken(bill.own()), count);
    }
    // The input of each is read from the cache by then.
    let more = bill.dollars() - whole.dollars();
    assert!(more > 0.005, "{more} beside {}", whole.dollars());
}

/// Tokens of a window that thirty large files fill more than once.
const WINDOW: u64 = 120_000;

#[test]
fn a_summary_reads_the_conversation_from_the_cache_and_what_follows_begins_with_tools_and_system() {
    for model in MODELS {
        let requests = job::play(Job {
            model,
            steps: 30,
            lines: 300,
            instructions: 52_000,
            window: WINDOW,
            compaction: "auto",
        });
        let summaries: Vec<usize> = (0..requests.len())
            .filter(|at| requests[*at].summary)
            .collect();
        assert!(summaries.len() >= 2, "{model}: {summaries:?}");
        let first = requests[0].input();
        for at in summaries {
            let (before, pass) = (&requests[at - 1], &requests[at]);
            let shared = before.input();
            let read = pass.cached.read;
            assert!(read * 100 >= shared * 98, "{model}: {read} of {shared}");
            let (next, later) = (&requests[at + 1], &requests[at + 2]);
            // The first request was tools, system text and a message of one word. OpenAI matches whole breakpoints, and
            // none can stand between the instructions and the input.
            let read = next.cached.read;
            if !model.starts_with("openai/") {
                assert!(read * 100 >= first * 95, "{model}: {read} of {first}");
            }
            let (read, shared) = (later.cached.read, next.input());
            assert!(read * 100 >= shared * 98, "{model}: {read} of {shared}");
        }
    }
}

#[test]
fn a_turn_of_500_steps_that_reads_100_kb_in_each_runs_to_its_end_in_200_000_tokens() {
    let requests = job::play(Job {
        model: "anthropic/claude-opus-5-5",
        steps: 500,
        lines: 1_000,
        instructions: 0,
        window: 200_000,
        compaction: "auto",
    });
    let summaries = requests.iter().filter(|request| request.summary).count();
    // The server accepts no request that passes the window, and each step is a request.
    assert_eq!(requests.len() - summaries, 501);
    assert!(summaries >= 20, "{summaries} summaries");
}

#[test]
fn what_is_left_out_of_a_cold_conversation_makes_it_cheaper_and_what_is_left_is_read_from_the_cache()
 {
    for model in MODELS {
        let job = Job {
            model,
            steps: 30,
            lines: 100,
            instructions: 16_000,
            window: 1_000_000,
            compaction: "auto",
        };
        let (with, without) = (job::go_on(job, 3, true), job::go_on(job, 3, false));
        assert_eq!((with.len(), without.len()), (4, 4), "{model}");
        let (first, whole) = (&with[0], &without[0]);
        assert!(
            first.input() * 2 < whole.input(),
            "{model}: {} of {}",
            first.input(),
            whole.input()
        );
        let (with_cost, without_cost) = (job::cost(&with), job::cost(&without));
        assert!(
            with_cost * 2.0 < without_cost,
            "{model}: {with_cost} of {without_cost}"
        );
        for pair in with.windows(2) {
            let (read, shared) = (pair[1].cached.read, pair[0].input());
            assert!(read * 100 >= shared * 98, "{model}: {read} of {shared}");
        }
    }
}

#[test]
fn an_inquiry_that_nobody_answers_costs_four_steps_at_most() {
    let others = ["openai/gpt-6-astra", "google/gemini-3.8-flash"];
    for model in MODELS.into_iter().chain(others) {
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
            // Of the price of a step that reads all but its own words from the cache.
            let step = bill.after().dollars;
            assert!(
                asked <= 4.0 * step,
                "{model}, {questions}: {asked} of {step} a step"
            );
        }
    }
}
