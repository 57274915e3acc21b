//! The table of sentences.

macro_rules! sentences {
    ($($name:ident = $english:literal;)+) => {
        /// A sentence that the turn makes for a model.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the template beside each name says what it is for")]
        pub enum Sentence {
            $($name,)+
        }

        impl Sentence {
            /// Every sentence, in the order of the table.
            pub const ALL: [Self; [$($english),+].len()] = [$(Self::$name),+];

            /// The template, with the names of its values in braces.
            pub(super) const fn english(self) -> &'static str {
                match self {
                    $(Self::$name => $english,)+
                }
            }
        }
    };
}

sentences! {
    // Why a call ended.
    Cancelled = "Cancelled by the user.";
    TimeOver = "Stopped: the turn's time limit was reached.";
    TooManyCalls = "Too many calls in one message; not run.";
    UnknownTool = "There is no tool {tool}.";
    InvalidArguments = "Invalid arguments for {tool}: {what}.";
    Interrupted = "{tool} was interrupted; its effects are unknown. Look before you run it again.";
    TooSlow = "{tool} ran longer than {seconds} s and was stopped; its effects are unknown.";
    NotAllowed = "The user did not allow {tool} to run. Do not retry it in this turn; ask or continue without it.";
    DeniedByConfiguration = "{tool} is not allowed here (conversation.tools.{tool}.run). Do not retry it in this turn.";
    DeniedByRule = "{tool} is not allowed here (a rule in commands.deny). Do not retry it in this turn, nor try it in another way.";
    DeniedByMode = "{tool} is not allowed here ({mode} mode). Do not retry it in this turn.";
    NotTrusted = "{tool} is not allowed here (workspace not trusted). Do not retry it in this turn.";
    NeedsApproval = "{tool} needs approval and no interactive client is attached. Do not retry it in this turn.";
    NeedsApprovalFor = "{tool} needs approval and no interactive client is attached, as {why}. Do not retry it in this turn.";
    PromptFailed = "{tool}: the prompt could not be shown: {why}. Do not retry this tool call in this turn.";
    Withheld = "The user withheld the result of {tool}.";
    WithheldUnattended = "The result of {tool} needs approval and no interactive client is attached.";
    Note = "\nThe user said: {note}";
    // Why its question has no answer.
    QuestionDismissed = "The user dismissed the question. Do not ask it again in this turn; continue without it or explain what is missing.";
    QuestionFailed = "{tool}: the question could not be shown: {why}. Do not retry this tool call in this turn.";
    NoPromptBackend = "{tool} cannot run because no interactive client is attached. Do not retry this tool call in this turn; continue without user input or explain what information is missing.";
    AssistantRoutingDenied = "{tool} requires a human answer and cannot be routed to the assistant. Do not retry this tool call in this turn.";
    InvalidStaticAnswer = "{tool}: the configured conversation.tools.{tool}.questions.{question}.answer value does not match the question's answer_type. Update the configuration; do not retry.";
    UnusableStaticAnswer = "{tool}: conversation.tools.{tool}.questions.{question}.answer cannot answer the question: {why}. Update the configuration; do not retry.";
    DetachedPolicy = "{tool} needs an answer that the current policy does not allow. Do not retry this tool call in this turn; continue without it or explain what is missing.";
    InvalidQuestion = "{tool} asked an invalid question ({why}). This is a defect of the tool; do not retry.";
    LimitReached = "{tool} keeps asking and was stopped. Do not retry this tool call in this turn.";
    InquiryFailed = "Inquiry failed: {why}";
    // Directives.
    Cut = "Your last response was cut off before anything in it was complete. Go on from there, in smaller steps.";
    Empty = "Your last response had neither text nor a call. Go on with your task, or give your answer.";
    Repeats = "You called `{tool}` {what} times with the same arguments, and its result was the same each time. Do not call it like this again: do something else, wait longer in one call if you wait for something, or give your answer.";
    LeftOut = "The tool `{tool}` is no longer available: the provider refused its description. Go on without it.";
    SchemaRepair = "Your answer does not fit the schema that was asked for: {what}. Answer again with JSON that fits it, and nothing else.";
    Force = "Call the tool `{tool}` before you answer.";
    ForceAny = "Call one of your tools before you answer.";
    ForceAgain = "You answered without calling `{tool}`. Call `{tool}` now; do not reply with text alone.";
    ForceAnyAgain = "You answered without calling a tool. Call one now; do not reply with text alone.";
    Lost = "Part of this conversation was lost: {what}";
    Moved = "While this turn was interrupted, files that it changed became other than it left them: {what}. Read them again before you rely on your changes, and make again what is missing.";
    Undone = "The user took back the changes that {what}. These files are as they were before it.";
    // Compaction.
    Compact = "Stop here and summarise this conversation for yourself: what came so far is replaced by your summary. Use these headings, leave out those without content, and write at most 1500 words.\n\n## Goal\nWhat the user wants, in the user's words.\n## State\nWhat is done, what is under way.\n## Decisions\nWhat was decided, and why.\n## Files\nPaths that matter, and why.\n## Failed\nWhat was tried in vain.\n## Next\nThe next steps.\n## Verbatim\nNames, numbers, commands and errors that must not be paraphrased.\n\nWhat the user said, answered, allowed and refused is kept beside your summary and need not be repeated; of messages over 4 KB only both ends are kept. Do not call a tool. Reply with the summary alone.";
    CompactWords = "\n\nThe user asks of this summary: {words}";
    CompactAgain = "That is not a usable summary. Reply with the summary alone: no call, complete, and much shorter than the conversation.";
    CompactNotRun = "Not run: summarise the conversation first.";
    // In place of outputs that are not sent any more.
    Cleared = "Left out to save tokens: {bytes} bytes that `{tool}` gave in turn {turn}.";
    ClearedCallAgain = " Make the call again if you need them.";
    ClearedRecall = " The tool `recall` finds them in the log of this conversation.";
    // Inquiries.
    InquiryAsks = "The tool `{tool}` needs an answer before it can go on.";
    InquiryId = "Inquiry {id}";
    InquiryBoolean = "Answer exactly true or false.";
    InquiryOneOf = "Answer with exactly one of:";
    InquirySeveralOf = "Answer with a JSON array of {how_many} of:";
    InquiryPhrase = "Answer with {phrase}.";
    InquiryOptional = "Leave the answer empty to leave it out.";
    InquiryDefault = "Default: {default}";
    InquiryCallOnce = "Call answer_inquiry with this inquiry_id and your answer, once. Do not call any other tool. Answer directly, from the conversation.";
    InquiryCallEach = "Call answer_inquiry once for each of them, with its inquiry_id and your answer. Do not call any other tool. Answer directly, from the conversation.";
    InquiryReplyJson = "Reply with the JSON object {object} alone. Answer directly, from the conversation.";
    InquiryTaken = "Taken.";
    InquiryNotRun = "Not run: answer the inquiry first.";
    InquiryStillRunning = "Tool still running.";
    InquiryPaused = "Tool paused: {question}";
    InquiryNotAccepted = "Not accepted. {wrong}";
    InquiryCalledOther = "You called {tool}, which was not run.";
    InquiryNotCalled = "You did not call answer_inquiry.";
    InquiryNotJson = "The arguments are not valid JSON.";
    InquiryUnknownId = "There is no open inquiry with the inquiry_id {id}.";
    InquiryAnswerMissing = "The answer is missing.";
    InquiryNoObject = "The reply was not the JSON object that was asked for.";
    InquiryEndedWith = "The reply ended with {what}.";
    InquiryOneMissing = "An answer is missing.";
    InquiryContextFull = "the context window of the model is full";
    InquiryNotForced = "the model does not take a forced tool";
    InquiryGivenUp = "no fitting answer in {requests} tries; the last: {wrong}";
}
