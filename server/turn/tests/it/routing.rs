//! Where an answer comes from: the whole table, each row played from the model's call to its outcome.

use std::collections::BTreeSet;

use crate::{play::Play, table::Table};

const TABLE: &str = include_str!("tables/routing.txt");

#[test]
fn every_question_goes_where_the_table_says() {
    let table = Table::of(TABLE);
    table.check(|cells, expected| {
        let secret = cells[2] == "secret";
        let mut play = Play::of(&conversation(cells));
        let expected: Vec<_> = expected.split("; ").collect();
        let route = route(&play);
        if route != expected[0] {
            return Err(format!("it is `{route}`:\n{}", play.out));
        }
        match route {
            "ask" if secret => play.answer("c", "1234".into(), false),
            "ask" => play.answer("c", true.into(), false),
            "inquiry" => play.line("reply c true"),
            _ => {}
        }
        let (record, value) = play.on_record("c");
        let record = if route == "answer" {
            format!("{record} {value}")
        } else {
            record
        };
        let told = expected
            .get(2)
            .map(|letter| ("error", table.legend[*letter].as_str()));
        let runs = match (expected[1], secret) {
            (_, true) if route == "ask" => Some("go=[secret]"),
            ("answered config false", _) => Some("go=false"),
            (answered, _) if answered.starts_with("answered") => Some("go=true"),
            _ => Some(""),
        };
        let same = record == expected[1]
            && play.result("c") == told
            && play.answers("c").as_deref() == runs;
        same.then_some(())
            .ok_or_else(|| format!("record `{record}`:\n{}", play.out))
    });
}

#[test]
fn no_combination_is_missing() {
    let table = Table::of(TABLE);
    let columns: Vec<BTreeSet<&str>> = (0..8)
        .map(|column| table.rows.iter().map(|(cells, _)| cells[column]).collect())
        .collect();
    let combinations: usize = columns.iter().map(BTreeSet::len).product();
    assert_eq!((combinations, table.rows.len()), (768, 768));
}

fn conversation(cells: &[&str]) -> String {
    let [
        target,
        exclusive,
        secret,
        client,
        mode,
        configured,
        memory,
        persist,
    ] = cells
    else {
        panic!("eight cells: {cells:?}");
    };
    // What a person said before is kept over a crash and over a change of the rules.
    let before = match *memory {
        "kept" => {
            "client\ntool tool\ndo b tool {\"n\":1}\nasks b go boolean: Go on?\n\
             answer b true remember\ndone b ok\ncrash\n"
        }
        _ => "",
    };
    let client = if *client == "attached" {
        "client"
    } else {
        "no-client"
    };
    let answer = match *configured {
        "unset" => "",
        "fits" => " answer=false",
        _ => " answer=\"maybe\"",
    };
    let begin = if before.is_empty() { "" } else { "resume\n" };
    let exclusive = if *exclusive == "exclusive" {
        " exclusive"
    } else {
        ""
    };
    let kind = if *secret == "secret" {
        "secret"
    } else {
        "boolean default=true"
    };
    format!(
        "{before}{client}\ntool tool detached.tool={mode}\nquestion tool.go target={target}{answer}\n{begin}\
         do c tool {{\"n\":2}}\nasks c go {kind}{exclusive} persist={persist}: Go on?",
    )
}

fn route(play: &Play) -> &'static str {
    if play.is_parked() {
        "park"
    } else if play.result("c").is_some() {
        "fail"
    } else if play.open_prompts().next().is_some() {
        "ask"
    } else if play.inquires() {
        "inquiry"
    } else {
        "answer"
    }
}
