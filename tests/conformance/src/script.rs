//! Scripts for the rehearsal model, as far as the cases need them: the driver writes
//! them. What their keys mean is in `server/provider/rehearsal/README.md`.

use serde::Serialize;

use crate::Failure;

/// What the model says once it has been told `true`.
pub const TOLD_YES: &str = "The model was told yes.";
/// What the model says where the answer was `false`.
pub const TOLD_NO: &str = "The model was told no.";
/// … that the person dismissed the question.
pub const TOLD_DISMISSED: &str = "The model was told of a dismissal.";
/// … that the question could not be shown.
pub const TOLD_NOT_SHOWN: &str = "The model was told that it could not be shown.";
/// … anything else.
pub const TOLD_ELSE: &str = "The model was told something else.";

/// A script: the first reply that fits a request is played.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Script {
    /// In the order in which they are tried.
    pub reply: Vec<Reply>,
}

/// One reply of the model. It never is used up.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Reply {
    /// Always true here, so that a server may play it in any number of conversations.
    pub repeat: bool,
    /// Which requests it is for.
    pub when: When,
    /// What the model says, and calls.
    pub say: Vec<Item>,
    /// What goes wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fault: Option<Fault>,
}

/// Which requests a reply is for: all keys have to fit.
#[derive(Clone, Debug, Default, Serialize)]
pub struct When {
    /// The request of its turn, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// A part of what the user said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// One of the last results.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<ResultIs>,
}

/// A result of a tool.
#[derive(Clone, Debug, Serialize)]
pub struct ResultIs {
    /// A part of it.
    pub contains: String,
}

/// A piece of a reply: words, or a call.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Item {
    /// The text that the model says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The name of the tool that is called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// For the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<toml::Table>,
}

/// What goes wrong with a reply.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Fault {
    /// It never ends.
    pub stall: bool,
}

/// A question that the model asks with `ask_user`.
#[derive(Clone, Debug)]
pub struct Ask {
    question: String,
    kind: &'static str,
    options: Vec<String>,
}

impl Ask {
    /// A yes or no.
    pub fn boolean(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            kind: "boolean",
            options: Vec::new(),
        }
    }

    /// One of these.
    pub fn select(question: &str, options: &[&str]) -> Self {
        let options = options.iter().map(|&option| option.to_owned()).collect();
        Self {
            question: question.to_owned(),
            kind: "select",
            options,
        }
    }

    /// A question that any text answers.
    pub fn text(question: &str) -> Self {
        Self {
            question: question.to_owned(),
            kind: "text",
            options: Vec::new(),
        }
    }

    fn item(&self) -> Item {
        let mut arguments = toml::Table::new();
        arguments.insert("question".into(), self.question.clone().into());
        arguments.insert("answer_type".into(), self.kind.into());
        if self.kind == "select" {
            arguments.insert("options".into(), self.options.clone().into());
        }
        Item::call("ask_user", arguments)
    }
}

impl Item {
    /// An item in which the model says a text.
    pub fn text(text: &str) -> Self {
        Self {
            text: Some(text.to_owned()),
            ..Self::default()
        }
    }

    /// An item in which the model calls a tool.
    pub fn call(tool: &str, arguments: toml::Table) -> Self {
        Self {
            call: Some(tool.to_owned()),
            arguments: Some(arguments),
            ..Self::default()
        }
    }
}

impl Script {
    /// A model that begins each turn by asking these, side by side, and then says what it was told: one of the
    /// `TOLD_…` texts.
    pub fn asks(questions: &[Ask]) -> Self {
        Self::says(questions.iter().map(Ask::item).collect())
    }

    /// A model that begins each turn with these items, and then says what it was told.
    pub fn says(items: Vec<Item>) -> Self {
        let first = Reply {
            when: When {
                step: Some(1),
                ..When::default()
            },
            ..Reply::of(items)
        };
        let mut script = Self { reply: vec![first] };
        for (part, says) in [
            ("\"answer\":true", TOLD_YES),
            ("\"answer\":false", TOLD_NO),
            ("The user dismissed the question.", TOLD_DISMISSED),
            ("the question could not be shown", TOLD_NOT_SHOWN),
        ] {
            script.reply.push(Reply::told(part, says));
        }
        script.reply.push(Reply::of(vec![Item::text(TOLD_ELSE)]));
        script
    }

    /// Where a result has this part, the model says this: tried before all others.
    pub fn told(self, part: &str, says: &str) -> Self {
        self.before(Reply::told(part, says))
    }

    /// Where the user said this last, the model says this: tried before all others.
    pub fn heard(self, user: &str, items: Vec<Item>) -> Self {
        let when = When {
            user: Some(user.to_owned()),
            ..When::default()
        };
        self.before(Reply {
            when,
            ..Reply::of(items)
        })
    }

    /// A turn whose message has this begins with these questions: tried before all others.
    pub fn asks_for(self, user: &str, questions: &[Ask]) -> Self {
        let when = When {
            user: Some(user.to_owned()),
            step: Some(1),
            result: None,
        };
        let items = questions.iter().map(Ask::item).collect();
        self.before(Reply {
            when,
            ..Reply::of(items)
        })
    }

    /// The first reply never ends.
    pub fn stalls(mut self) -> Self {
        if let Some(first) = self.reply.first_mut() {
            first.fault = Some(Fault { stall: true });
        }
        self
    }

    /// As it is written.
    ///
    /// # Errors
    /// Where it cannot be spelled as TOML.
    pub fn toml(&self) -> Result<String, Failure> {
        toml::to_string(self)
            .map_err(|error| Failure(format!("the script cannot be written: {error}")))
    }

    fn before(mut self, reply: Reply) -> Self {
        self.reply.insert(0, reply);
        self
    }
}

impl Reply {
    fn of(say: Vec<Item>) -> Self {
        Self {
            repeat: true,
            say,
            ..Self::default()
        }
    }

    fn told(part: &str, says: &str) -> Self {
        let result = Some(ResultIs {
            contains: part.to_owned(),
        });
        let when = When {
            result,
            ..When::default()
        };
        Self {
            when,
            ..Self::of(vec![Item::text(says)])
        }
    }
}
