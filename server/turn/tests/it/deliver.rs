//! May the model see a result?

use aside_turn::{effect::PromptKind, record::RefusalReason};

use crate::{play::Play, table::Table};

#[test]
fn every_result_is_delivered_as_the_table_says() {
    let table = Table::of(include_str!("tables/deliver.txt"));
    table.check(|cells, expected| {
        let mut play = Play::of(&conversation(cells));
        let asked = play
            .open_prompts()
            .any(|prompt| prompt.kind == PromptKind::DeliverResult);
        match cells[3] {
            "-" if asked => return Err(format!("somebody is asked:\n{}", play.out)),
            "-" => {}
            _ if !asked => return Err(format!("nobody is asked:\n{}", play.out)),
            "decline" => play.line("decline c"),
            "note" => play.line("decline c not this"),
            "cancel" => play.line("skip c"),
            value => play.line(&format!("answer c {value}")),
        }
        let told = table.legend.get(expected).map(String::as_str);
        let wanted = match (expected, told) {
            (_, Some(text)) => Some(("denied", text)),
            ("delivered", _) => Some((cells[1], "the text")),
            _ => None,
        };
        if play.result("c") != wanted || play.is_parked() != (expected == "park") {
            return Err(play.out);
        }
        if !play.is_parked() {
            play.line("say Well.");
            let end = play.end.as_ref().ok_or("it does not end")?;
            let withheld = end
                .refusals
                .iter()
                .any(|refusal| refusal.reason == RefusalReason::Withheld);
            if withheld != (expected == "N") {
                return Err(format!("refused for want of a person: {:?}", end.refusals));
            }
        }
        Ok(())
    });
}

fn conversation(cells: &[&str]) -> String {
    let [rule, result, client, _] = cells else {
        panic!("four cells: {cells:?}")
    };
    let ends = if *result == "ok" { "done" } else { "error" };
    let client = match *client {
        "attached" => "\nclient\n".to_owned(),
        mode => format!(" detached.deliver={mode}\n"),
    };
    format!("tool tool result={rule}{client}do c tool\n{ends} c the text")
}
