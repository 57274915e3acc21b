//! What holds for every API.

use std::{collections::HashSet, sync::Arc, time::Duration};

use aside_model_server::{
    ServedApi as Wire,
    play::{ModelReply, ReplyItem},
};

use super::{
    ApiKind, FindKey,
    abilities::built_in,
    api::WireApi,
    client::HttpClient,
    http,
    trial::{ProviderTrial, grep_tool, options},
};
use crate::turn::response::{Finish, Kind, Piece, Response};

const ALL: [(ApiKind, Wire); 5] = [
    (ApiKind::Anthropic, Wire::Anthropic),
    (ApiKind::OpenaiResponses, Wire::OpenaiResponses),
    (ApiKind::OpenaiChat, Wire::OpenaiChat),
    (ApiKind::Google, Wire::Gemini),
    (ApiKind::Ollama, Wire::Ollama),
];

/// A conversation with a model of this API.
fn talk(kind: ApiKind) -> (Arc<dyn WireApi>, ProviderTrial) {
    let options = options("p/m", built_in(kind, "m"));
    let no_key: FindKey = Arc::new(|| Box::pin(async { Ok(None) }));
    let http = http(kind, options, HttpClient::default(), no_key).unwrap();
    let mut trial = ProviderTrial::new(http.options, "", vec![grep_tool()]);
    trial.user("Go.");
    (http.api, trial)
}

#[test]
fn five_thousand_calls_are_five_thousand_calls() {
    for (kind, wire) in ALL {
        let (api, mut trial) = talk(kind);
        let mut play = ModelReply::new("m");
        for at in 0..5_000 {
            // Every third has an id of its own, the others one that repeats, or none.
            let id = [format!("call_{at}"), "again".into(), String::new()][at % 3].clone();
            play = play.say(ReplyItem::call(&id, "no_such_tool", r#"{"a":1}"#));
        }
        let body = play.stream(wire);
        let mut response = Response::default();
        let mut finish = None;
        for piece in trial.decode(api.as_ref(), &body).unwrap() {
            if let Piece::Finish(end) = &piece {
                finish = Some(end.clone());
            }
            response.add(piece);
        }
        assert_eq!(finish, Some(Finish::ToolUse), "{kind:?}");
        let ids: HashSet<&str> = response
            .complete_calls()
            .filter_map(|item| match &item.kind {
                Kind::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), 5_000, "{kind:?}");
        trial.response(api.as_ref(), &body).request();
        let sent = trial.body(api.as_ref()).to_string();
        assert_eq!(sent.matches("no_such_tool").count(), 5_000, "{kind:?}");
    }
}

/// Work that grows with the square of a response's length would take minutes.
#[test]
fn a_long_response_takes_time_by_its_length() {
    for (kind, wire) in ALL {
        let (api, trial) = talk(kind);
        // Twenty thousand pieces.
        let text = "0123456789abcdef".repeat(20_000);
        let body = ModelReply::new("m").say(ReplyItem::text(text)).stream(wire);
        let before = std::time::Instant::now();
        let found = trial.decode(api.as_ref(), &body).unwrap();
        let words = found.iter().filter_map(|piece| match piece {
            Piece::Delta { text, .. } => Some(text.len()),
            _ => None,
        });
        assert_eq!(words.sum::<usize>(), 320_000, "{kind:?}");
        assert!(before.elapsed() < Duration::from_secs(30), "{kind:?}");
    }
}
