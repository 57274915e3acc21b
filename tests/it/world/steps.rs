//! Scripts of models that say one thing after the other, a line a step.

/// A reply of the script.
struct Reply<'a> {
    /// The condition that was written, if any.
    when: Option<&'a str>,
    /// Everything else that a reply has beside what is said.
    keys: Vec<String>,
    said: Vec<String>,
}

/// The script of a model that says this, a line a step. A line is a text in quotes, `reasoning` and a text, a call (the
/// tool, its id where that matters, its arguments), an item as it stands in a reply, or `-` for nothing. What else is said
/// in a step follows behind `+`, and what else its reply has behind `&`. A step that comes more than once begins with
/// `always`, or as `9 times`. A reply is for the step of its place, and the last one for any; one that begins with a
/// condition and `=>` is for that. What stands behind `&` before all replies is said of the model. A list goes on in
/// further lines.
pub(super) fn steps(text: &str) -> String {
    let (mut model, mut replies) = (String::new(), Vec::new());
    let text = text.replace("[\n", "[").replace(",\n", ",");
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        if let Some(more) = line.strip_prefix("+ ") {
            let reply: &mut Reply<'_> = replies.last_mut().expect("a step");
            reply.said.push(said(more));
        } else if let Some(key) = line.strip_prefix("& ") {
            match replies.last_mut() {
                Some(Reply { keys, .. }) => keys.push(key.to_owned()),
                None => model += &format!("{key}\n"),
            }
        } else {
            replies.push(reply(line));
        }
    }
    let last = replies.len();
    let replies = (1..).zip(replies).map(|(step, reply)| {
        let when = match reply.when {
            Some(when) => when.to_owned(),
            None if step == last => "{}".to_owned(),
            None => format!("{{ step = {step} }}"),
        };
        let (keys, said) = (reply.keys.join("\n"), reply.said.join(", "));
        format!("[[reply]]\nwhen = {when}\n{keys}\nsay = [{said}]\n")
    });
    format!("[model]\n{model}{}", replies.collect::<String>())
}

fn reply(line: &str) -> Reply<'_> {
    let (when, line) = match line.split_once(" => ") {
        Some((when, line)) if when.starts_with('{') => (Some(when), line),
        _ => (None, line),
    };
    let (keys, line) = match line.split_once(" times ") {
        Some((times, line)) if times.parse::<u32>().is_ok() => {
            (vec![format!("times = {times}")], line)
        }
        _ => match line.strip_prefix("always ") {
            Some(line) => (vec!["repeat = true".to_owned()], line),
            None => (vec![], line),
        },
    };
    let said = match line {
        "-" => vec![],
        line => vec![said(line)],
    };
    Reply { when, keys, said }
}

/// An item of a reply.
fn said(line: &str) -> String {
    if line.starts_with(['"', '\'']) {
        return format!("{{ text = {line} }}");
    }
    if let Some(text) = line.strip_prefix("reasoning ") {
        return format!("{{ reasoning = {text} }}");
    }
    let at = line.find('{').expect("arguments of a call");
    let (call, arguments) = line.split_at(at);
    match call.split_whitespace().collect::<Vec<_>>()[..] {
        [] => line.to_owned(),
        [tool] => format!("{{ call = \"{tool}\", arguments = {arguments} }}"),
        [tool, id] => format!("{{ call = \"{tool}\", id = \"{id}\", arguments = {arguments} }}"),
        _ => panic!("no call: {line}"),
    }
}
