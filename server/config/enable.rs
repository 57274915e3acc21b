//! Tools that are on: the configuration, then `-t` and `-T` in order.

use super::{
    names::did_you_mean,
    settings::{AllowToggle, Settings},
};

/// A directive for one run, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Toggle {
    /// `-t NAME`: the tool of this name is on.
    On(String),
    /// `-T NAME`: the tool of this name is off.
    Off(String),
    /// `-T`: all that a bulk directive may.
    AllOff,
}

/// The tools that are on, in the order of `known`. A forced tool choice turns its tool on.
///
/// # Errors
/// A sentence where a directive or the tool choice names a tool that is not known or may not be turned on or
/// off: bad usage.
pub fn enabled_tools(
    settings: &Settings,
    toggles: &[Toggle],
    known: &[String],
) -> Result<Vec<String>, String> {
    let mut tools: Vec<ToolState<'_>> = known
        .iter()
        .map(|name| ToolState::of(settings, name))
        .collect();
    for toggle in toggles {
        match toggle {
            Toggle::On(name) => find(&mut tools, name)?.toggle(true)?,
            Toggle::Off(name) => find(&mut tools, name)?.toggle(false)?,
            Toggle::AllOff => {
                tools
                    .iter_mut()
                    .filter(|tool| tool.allow.by_bulk())
                    .for_each(|tool| tool.is_on = false);
            }
        }
    }
    if let Some(name) = settings.forced_tool() {
        find(&mut tools, name)?.force()?;
    }
    Ok(tools
        .into_iter()
        .filter(|tool| tool.is_on)
        .map(|tool| tool.name.to_owned())
        .collect())
}

struct ToolState<'a> {
    name: &'a str,
    is_on: bool,
    allow: AllowToggle,
}

impl<'a> ToolState<'a> {
    fn of(settings: &Settings, name: &'a str) -> Self {
        let tools = &settings.conversation.tools;
        let (own, defaults) = (
            tools.named.get(name).map(|tool| &tool.enable),
            &tools.defaults.enable,
        );
        let is_on = own
            .and_then(|enable| enable.state)
            .or(defaults.state)
            .unwrap_or(true);
        let allow = own
            .and_then(|enable| enable.allow_toggle)
            .or(defaults.allow_toggle);
        Self {
            name,
            is_on,
            allow: allow.unwrap_or(AllowToggle::Any),
        }
    }

    fn toggle(&mut self, is_on: bool) -> Result<(), String> {
        if self.allow == AllowToggle::Never {
            return Err(self.fixed());
        }
        self.is_on = is_on;
        Ok(())
    }

    fn force(&mut self) -> Result<(), String> {
        if self.is_on {
            Ok(())
        } else {
            self.toggle(true)
        }
    }

    fn fixed(&self) -> String {
        let (name, is) = (self.name, if self.is_on { "on" } else { "off" });
        format!(
            "the tool `{name}` is {is} and stays so for any run, as \
             conversation.tools.{name}.enable.allow_toggle is \"never\"; change it in your aside.toml"
        )
    }
}

impl AllowToggle {
    /// May a directive for all tools turn it on or off?
    fn by_bulk(self) -> bool {
        matches!(self, Self::Any | Self::Always)
    }
}

fn find<'a, 'b>(
    tools: &'b mut [ToolState<'a>],
    name: &str,
) -> Result<&'b mut ToolState<'a>, String> {
    let Some(at) = tools.iter().position(|tool| tool.name == name) else {
        let near = did_you_mean(name, tools.iter().map(|tool| tool.name));
        let near = match near.is_empty() {
            true => "; `aside config show conversation.tools` has the names of those there are"
                .to_owned(),
            false => near,
        };
        return Err(format!("there is no tool `{}`{near}", name.escape_debug()));
    };
    Ok(&mut tools[at])
}
