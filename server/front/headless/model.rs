//! `aside model`: lists models.

use aside_base::visible::one_line;
use aside_config::{ModelId, Settings};
use aside_provider::{
    Provider as _,
    abilities::{Abilities, StatedAbilities},
    models::KnownReasoning,
    rehearsal::{self, Rehearsal},
};
use futures_util::future::join_all;

use super::{
    failure::{CHECK_STATE, CommandFailure},
    place::CommandContext,
    streams::Streams,
};
use crate::engine::models::{Models, listed::Lists};

/// Lists the models of all usable providers, one per line, and stores what the providers say of them.
///
/// # Errors
/// Fails if the configuration is invalid or the list cannot be written.
pub async fn list(place: &CommandContext, streams: &mut Streams<'_>) -> Result<(), CommandFailure> {
    let (configuration, _) = place.configuration()?;
    let settings = &configuration.settings;
    let models = place.engine.models(settings);
    let names = models.usable_providers(settings);
    let asked = names.iter().map(|name| ask(name, settings, &models));
    let mut lists = Lists::read(models.state_dir());
    let (mut rows, mut said) = (scripts()?, false);
    for (name, answer) in names.iter().zip(join_all(asked).await) {
        match answer {
            Ok(answer) => {
                lists.set(name, &answer.base, &answer.models);
                rows.extend(answer.rows);
                said = true;
            }
            // Ollama is not configured; this was only an attempt to find it.
            Err(_) if name == "ollama" && !models.expects_ollama(settings) => {}
            Err(why) => streams.note(&list_failure(name, &why)),
        }
    }
    streams.say(&table(&rows))?;
    streams.note("rehearsal/PATH plays a script of your own.");
    if said && let Err(error) = lists.write(models.state_dir()) {
        streams.note(&format!(
            "Cannot store the lists of models: {error}; {CHECK_STATE}."
        ));
    }
    Ok(())
}

/// A provider's list of models.
struct ListAnswer {
    base: String,
    models: Vec<(String, StatedAbilities)>,
    rows: Vec<Row>,
}

async fn ask(name: &str, settings: &Settings, models: &Models) -> Result<ListAnswer, String> {
    let id = ModelId::of_provider(name, settings)?;
    let endpoint = models.endpoint(&id, settings)?;
    let mut listed = models.list(&endpoint).await?;
    models.describe(&endpoint, &mut listed).await;
    let base = endpoint.options.base.to_string();
    let configured = settings.providers.get(name).map(|own| &own.models);
    let unlisted = configured
        .into_iter()
        .flatten()
        .map(|(model, _)| model)
        .filter(|model| listed.iter().all(|(known, _)| known != *model));
    let stated = listed.iter().map(|(model, stated)| (model, Some(stated)));
    let rows = stated
        .chain(unlisted.map(|model| (model, None)))
        .map(|(model, stated)| {
            let id = ModelId {
                model: model.clone(),
                ..id.clone()
            };
            let reasoning = models.reasoning(&id, stated, settings);
            let abilities = models.abilities(&id, stated, settings);
            Ok(row(&id, reasoning, &abilities))
        })
        .collect::<Result<Vec<Row>, String>>()?;
    Ok(ListAnswer {
        base,
        models: listed,
        rows,
    })
}

/// Message about a provider whose models cannot be listed. The request was for no particular model, so none is named.
fn list_failure(provider: &str, why: &str) -> String {
    let why = why
        .strip_prefix(&format!("{provider}/any: "))
        .unwrap_or(why);
    format!("The models of {provider} cannot be listed: {why}.")
}

/// Columns: model, context window, maximum output, reasoning, price of input, price of output.
type Row = [String; 6];

const HEAD: [&str; 6] = [
    "model",
    "context",
    "output",
    "reasoning",
    "$/M in",
    "$/M out",
];
const UNKNOWN: &str = "-";

fn scripts() -> Result<Vec<Row>, CommandFailure> {
    let script = |script: &str| {
        let provider = Rehearsal::open(script).map_err(CommandFailure::internal)?;
        let unknown = || UNKNOWN.to_owned();
        Ok([
            format!("rehearsal/{script}"),
            size(provider.model().context_window),
            unknown(),
            unknown(),
            unknown(),
            unknown(),
        ])
    };
    rehearsal::built_in().map(script).collect()
}

fn row(id: &ModelId, reasoning: KnownReasoning, abilities: &Abilities) -> Row {
    let price =
        |price: Option<f64>| price.map_or_else(|| UNKNOWN.to_owned(), |usd| usd.to_string());
    let prices = abilities.prices.as_ref();
    let reasoning = match reasoning {
        KnownReasoning::Unknown => "unknown",
        KnownReasoning::No => "no",
        KnownReasoning::Yes => "yes",
        KnownReasoning::Always => "always",
    };
    [
        one_line(&id.to_string()).to_string(),
        size(abilities.context_window),
        size(abilities.max_output),
        reasoning.to_owned(),
        price(prices.map(|prices| prices.rates.input)),
        price(prices.map(|prices| prices.rates.output)),
    ]
}

/// A number of tokens in short form: `1M`, `1.05M`, `128K`.
fn size(tokens: Option<u64>) -> String {
    let Some(tokens) = tokens else {
        return UNKNOWN.to_owned();
    };
    let short = |unit: f64| (tokens as f64 / unit * 100.0).round() / 100.0;
    match tokens {
        1_000_000.. => format!("{}M", short(1e6)),
        1_000.. => format!("{}K", short(1e3).round()),
        _ => tokens.to_string(),
    }
}

fn table(rows: &[Row]) -> String {
    let head = HEAD.map(str::to_owned);
    let all = || std::iter::once(&head).chain(rows);
    let width = |column: usize| all().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEAD.len()).filter_map(width).collect();
    let line = |row: &Row| {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| match column {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    all().map(line).collect()
}

#[cfg(test)]
mod tests {
    use aside_base::api::ApiKind;
    use aside_provider::models;

    use super::*;

    #[test]
    fn list_failures_name_no_model() {
        let expected = "The models of google cannot be listed: nobody answers.";
        assert_eq!(
            list_failure("google", "google/any: nobody answers"),
            expected
        );
        assert_eq!(list_failure("google", "nobody answers"), expected);
    }

    #[test]
    fn models_are_listed_in_columns() {
        let mut rows = scripts().unwrap();
        let known = [
            ("anthropic", ApiKind::Anthropic, "claude-opus-5-5"),
            ("google", ApiKind::Google, "gemini-3.8-flash"),
            ("mine", ApiKind::OpenaiChat, "tiny\u{1b}"),
            ("openai", ApiKind::OpenaiResponses, "gpt-6-sol"),
        ];
        for (provider, kind, model) in known {
            let id = ModelId {
                provider: provider.into(),
                model: model.into(),
                api: ApiKind::Rehearsal,
            };
            let reasoning = models::reasoning(kind, model, None, None);
            rows.push(row(&id, reasoning, &models::built_in(kind, model)));
        }
        assert_eq!(
            table(&rows),
            "\
model                      context  output  reasoning  $/M in  $/M out
rehearsal/demo                200K       -          -       -        -
rehearsal/hello                  -       -          -       -        -
anthropic/claude-opus-5-5       1M    128K     always       4       20
google/gemini-3.8-flash      1.05M     66K     always    0.75     3.75
mine/tiny␛                       -       -    unknown       -        -
openai/gpt-6-sol             1.05M    128K        yes       2       10
"
        );
    }
}
