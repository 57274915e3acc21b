//! May a call run?

use aside_turn::{effect::PromptKind, record::RefusalReason};

use crate::{play::Play, table::Table};

#[test]
fn every_call_is_permitted_as_the_table_says() {
    let table = Table::of(include_str!("tables/permit.txt"));
    table.check(|cells, expected| {
        let mut play = Play::of(&conversation(cells));
        let outcome = outcome(&play);
        let told = table.legend.get(expected);
        let wanted = told.map_or(expected.to_owned(), |text| format!("denied {text}"));
        if outcome != wanted {
            return Err(format!("it is `{outcome}`:\n{}", play.out));
        }
        if told.is_some() {
            play.line("say Well.");
            let end = play.end.as_ref().ok_or("it does not end")?;
            let refusals: Vec<_> = end.refusals.iter().map(|refusal| refusal.reason).collect();
            let reason = match expected {
                "N" | "M" => RefusalReason::NeedsApproval,
                "T" => RefusalReason::NotTrusted,
                "K" => RefusalReason::Configuration,
                "P" => RefusalReason::Mode,
                other => return Err(format!("no reason is known for {other}")),
            };
            if refusals != [reason] {
                return Err(format!("refused: {refusals:?}"));
            }
        }
        Ok(())
    });
}

fn conversation(cells: &[&str]) -> String {
    let [mode, class, run, trusted, sandbox, must, approval, client] = cells else {
        panic!("eight cells: {cells:?}");
    };
    let mut text = format!("mode {mode}\n");
    if *trusted == "untrusted" {
        text += "untrusted\n";
    }
    text += &format!("tool tool class={class} run={run}");
    if *sandbox == "sandboxed" {
        text += " sandboxed";
    }
    if *must == "must" {
        text += " must=\"it has unsaved changes\"";
    }
    if *approval == "approved" {
        text += " approved";
    }
    text += &match *client {
        "attached" => "\nclient\n".to_owned(),
        mode => format!(" detached.run={mode}\n"),
    };
    text + "do c tool"
}

fn outcome(play: &Play) -> String {
    if let Some((status, text)) = play.result("c") {
        return format!("{status} {text}");
    }
    let parked = play.end.as_ref().map_or(&[][..], |end| &end.prompts);
    if play.is_parked()
        && parked
            .iter()
            .all(|prompt| prompt.kind == PromptKind::RunTool)
    {
        return "park".into();
    }
    if play
        .open_prompts()
        .any(|prompt| prompt.kind == PromptKind::RunTool)
    {
        return "ask".into();
    }
    if play.answers("c").is_some() {
        "run".into()
    } else {
        "nothing".into()
    }
}
