//! Options for the turns of a session: mode, model and effort.

use std::collections::BTreeMap;

use agent_client_protocol_schema::v1::{
    SessionConfigOption, SessionConfigOptionCategory, SessionConfigSelectGroup,
    SessionConfigSelectOption, SessionMode, SessionModeState,
};
use aside_config::settings::Settings;
use aside_provider::abilities::ReasoningKind;
use aside_turn::{record::Vocabulary, rules::Mode};

use super::{
    connection::AcpConnection,
    session::{Session, TurnChoice},
};
use crate::{
    engine::{Layers, models::known::known_models, start::trust::WorkspaceConfig},
    front::error::{Result, invalid},
};

/// Ids of the options.
const MODE: &str = "mode";
const MODEL: &str = "model";
const EFFORT: &str = "effort";
/// Value for the configured setting.
const DEFAULT: &str = "default";
/// Words of `assistant.reasoning`, with their names.
const EFFORTS: [(&str, &str); 6] = [
    (DEFAULT, "The model's own"),
    ("off", "Off"),
    ("low", "Low"),
    ("medium", "Medium"),
    ("high", "High"),
    ("max", "Max"),
];

/// The options of a session and their current values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionOptions {
    choice: TurnChoice,
    mode: Mode,
    modes: Vec<Mode>,
    /// Models by provider; each is `provider/model`.
    models: BTreeMap<String, Vec<String>>,
    model: String,
    /// `None` if the model does not reason.
    effort: Option<String>,
}

/// Reads the options. Blocks on files.
///
/// # Errors
/// Fails if the configuration is invalid.
pub(super) fn read(at: &AcpConnection, session: &Session) -> Result<SessionOptions> {
    let choice = session.choice();
    let layers = Layers {
        flags: choice.flags(),
        ..Layers::default()
    };
    let read = at.engine.configuration(&session.root.real, &layers)?;
    let settings = &read.configuration.settings;
    let models = at.engine.models(settings);
    let known = known_models(settings, &models);
    let mut by_provider: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (id, _) in &known {
        let of_provider = by_provider.entry(id.provider.clone()).or_default();
        of_provider.push(id.to_string());
    }
    let model = settings.assistant.model.clone();
    if let Some(model) = &model {
        let provider = model.split('/').next().unwrap_or_default();
        let of_provider = by_provider.entry(provider.to_owned()).or_default();
        if !of_provider.contains(model) {
            of_provider.insert(0, model.clone());
        }
    }
    let chosen = known.iter().find(|(id, _)| Some(id.to_string()) == model);
    let reasons = chosen.is_none_or(|(_, can)| can.reasoning != ReasoningKind::None);
    Ok(SessionOptions {
        modes: modes(&read),
        mode: mode(&choice, &read),
        models: by_provider,
        model: model.unwrap_or_else(|| DEFAULT.to_owned()),
        effort: reasons.then(|| effort(&choice, settings)),
        choice,
    })
}

/// The available modes: in an untrusted workspace nothing runs without approval.
fn modes(read: &WorkspaceConfig) -> Vec<Mode> {
    let all = Mode::ALL.iter().copied();
    all.filter(|mode| read.trusted || !is_free(*mode)).collect()
}

fn is_free(mode: Mode) -> bool {
    matches!(mode, Mode::Edits | Mode::Auto)
}

fn mode(choice: &TurnChoice, read: &WorkspaceConfig) -> Mode {
    let configured = read.configuration.settings.conversation.mode;
    let mode = choice.mode.unwrap_or(configured);
    if !read.trusted && is_free(mode) {
        return Mode::Ask;
    }
    mode
}

fn effort(choice: &TurnChoice, settings: &Settings) -> String {
    let configured = || {
        let word = serde_json::to_value(settings.assistant.reasoning?).ok()?;
        word.as_str().map(str::to_owned)
    };
    let chosen = choice.reasoning.clone().or_else(configured);
    chosen.unwrap_or_else(|| DEFAULT.to_owned())
}

impl SessionOptions {
    /// The choice with another value for an option.
    ///
    /// # Errors
    /// Fails if the option or the value is unknown.
    pub(super) fn with(&self, option: &str, value: &str) -> Result<TurnChoice> {
        let mut choice = self.choice.clone();
        let none = || invalid("value: the option has no such value");
        let chosen = Some(value.to_owned()).filter(|value| value != DEFAULT);
        match option {
            MODE => {
                let mode = Mode::of(value).filter(|mode| self.modes.contains(mode));
                choice.mode = Some(mode.ok_or_else(none)?);
            }
            MODEL => {
                let mut known = self.models.values().flatten();
                if value != DEFAULT && !known.any(|known| known == value) {
                    return Err(none());
                }
                choice.model = chosen;
            }
            EFFORT if self.effort.is_some() => {
                if !EFFORTS.iter().any(|(word, _)| *word == value) {
                    return Err(none());
                }
                choice.reasoning = chosen;
            }
            _ => return Err(invalid("configId: there is no such option")),
        }
        Ok(choice)
    }

    /// The mode of the next turn.
    pub(super) fn mode(&self) -> &'static str {
        self.mode.word()
    }

    /// The modes, for clients without options.
    pub(super) fn modes(&self) -> SessionModeState {
        let modes = self.modes.iter().map(|mode| {
            let (name, description) = name_and_description(*mode);
            SessionMode::new(mode.word(), name).description(description.to_owned())
        });
        SessionModeState::new(self.mode.word(), modes.collect())
    }

    /// All options.
    pub(super) fn options(&self) -> Vec<SessionConfigOption> {
        let mut options = vec![self.mode_option()];
        options.push(
            SessionConfigOption::select(MODEL, "Model", self.model.clone(), self.model_groups())
                .category(SessionConfigOptionCategory::Model),
        );
        if let Some(effort) = &self.effort {
            let values = EFFORTS.map(|(word, name)| SessionConfigSelectOption::new(word, name));
            options.push(
                SessionConfigOption::select(EFFORT, "Effort", effort.clone(), values.to_vec())
                    .category(SessionConfigOptionCategory::ThoughtLevel),
            );
        }
        options
    }

    fn mode_option(&self) -> SessionConfigOption {
        let values = self.modes.iter().map(|mode| {
            let (name, description) = name_and_description(*mode);
            SessionConfigSelectOption::new(mode.word(), name).description(description.to_owned())
        });
        let values: Vec<_> = values.collect();
        SessionConfigOption::select(MODE, "Mode", self.mode.word(), values)
            .category(SessionConfigOptionCategory::Mode)
    }

    fn model_groups(&self) -> Vec<SessionConfigSelectGroup> {
        let group = |provider: &String, models: &Vec<String>| {
            let models = models.iter().map(|model| {
                let name = model
                    .split_once('/')
                    .map_or(model.as_str(), |(_, name)| name);
                SessionConfigSelectOption::new(model.clone(), name)
            });
            SessionConfigSelectGroup::new(provider.clone(), provider.clone(), models.collect())
        };
        let default = SessionConfigSelectOption::new(DEFAULT, "As configured");
        let own = SessionConfigSelectGroup::new(DEFAULT, "Default", vec![default]);
        let known = self
            .models
            .iter()
            .map(|(provider, models)| group(provider, models));
        std::iter::once(own).chain(known).collect()
    }
}

/// Name and description of a mode.
fn name_and_description(mode: Mode) -> (&'static str, &'static str) {
    match mode {
        Mode::Ask => ("Ask", "Reading runs, the rest asks"),
        Mode::Edits => ("Edits", "Reading and editing files run, the rest asks"),
        Mode::Plan => ("Plan", "Reading runs, the rest is refused"),
        Mode::Auto => ("Auto", "Everything runs: inside the sandbox, else it asks"),
    }
}

#[cfg(test)]
mod tests {
    use aside_base::model::ReasoningEffort;

    use super::*;

    #[test]
    fn the_efforts_are_the_words_of_the_setting() {
        for (word, _) in EFFORTS.iter().filter(|(word, _)| *word != DEFAULT) {
            let read = serde_json::from_value::<ReasoningEffort>((*word).into());
            assert!(read.is_ok(), "{word}");
        }
    }
}
