// The messages that this editor sends and reads; see ../PROTOCOL.md. A test compiles every sample against these types.
import type { Range } from 'vscode-languageclient/node';

export const VERSION = 1;

export type Outcome = 'completed' | 'cancelled' | 'failed' | 'interrupted';

/** A tool of the client’s own. This editor has none. */
type ClientTool = { name: string; description: string; inputSchema: object; readOnly: boolean };

/** `capabilities.experimental.aside` of this client. */
export interface Capability {
  version: number;
  prompt: boolean;
  secret: boolean;
  save: boolean;
  /** The names of the server’s editor tools that this client serves. */
  editorTools: string[];
  tools?: ClientTool[];
}

/** Settings by who made them; a setting of the workspace never counts as the user's. */
export type Settings = { config: object; workspaceConfig: object; trusted: boolean };

export type Attachment = { uri: string; range?: Range; text?: string };

/** The modes of a turn; the first is the usual one. */
export const MODES = ['ask', 'edits', 'plan', 'auto'] as const;
export type Mode = (typeof MODES)[number];

/** Options of a turn; what is left out is for the settings to say. */
type TurnOptions = {
  model?: string;
  mode?: Mode;
  toolChoice?: string;
  schema?: object;
  root?: string;
};
type StartTurn = Partial<OfTurn> & TurnOptions & { message: string; attachments?: Attachment[] };

type ConversationStatus = 'idle' | 'running' | 'waiting' | 'interrupted';
type Counts = { turns: number; prompts: number; usage: Usage };
export type ConversationItem = OfConversation &
  Counts & { title: string; createdAt: string; updatedAt: string; status: ConversationStatus };
type ReadTurn = {
  turnId: string;
  startedAt: string;
  message: string;
  attachments?: string[];
  updates: Update[];
  outcome?: Outcome;
  error?: TurnCompleted['error'];
};
type Approval = {
  approvalId: string;
  tool?: string;
  title?: string;
  text?: string;
  cwd?: string;
  approvedAt?: string;
};
type Prices = { input: number; output: number; cacheRead?: number; cacheWrite?: number };
type Model = {
  id: string;
  contextWindow?: number;
  maxOutput?: number;
  reasoning: boolean;
  prices?: Prices;
};

type Bounds = { minimum?: number; maximum?: number };
export type AnswerType =
  | { type: 'boolean' }
  | { type: 'select'; options: string[] }
  | ({ type: 'multi_select'; options: string[] } & Bounds)
  | ({ type: 'number'; integer?: boolean } & Bounds)
  | ({ type: 'text'; format?: 'email' | 'uri' | 'date' | 'date-time' } & Bounds)
  | { type: 'secret' };

export type ShownChange = { uri: string; diff?: string; missing?: string };
export type Diff = { kind: 'diff'; uri: string; version?: number; old: string; new: string };

export interface Prompt extends OfTurn {
  promptId: string;
  tool: { name: string; callId: string; arguments: object; server?: string };
  kind: 'question' | 'runTool' | 'deliverResult';
  label: string;
  text: string;
  context?: string;
  answerType: AnswerType;
  expects?: string;
  optional?: boolean;
  default?: unknown;
  remember: boolean;
  exclusive: boolean;
  source: { type: 'assistant' } | { type: 'tool'; name: string };
  preview?: { kind: 'command'; text: string; cwd: string } | Diff | { kind: 'text'; text: string };
  turnPermits?: 'sameCall' | 'edits';
  position: { n: number; of: number };
  resumable?: boolean;
}

export type Answer =
  | { action: 'answer'; answer: unknown; remember?: boolean; newText?: string; oldText?: string }
  | { action: 'decline'; note?: string }
  | { action: 'cancel' };

type Tokens = {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
};
export type Usage = Tokens & {
  costUsd?: number;
  atLeast?: boolean;
  contextTokens?: number;
  contextWindow?: number;
};

export type Update =
  | { kind: 'text' | 'reasoning'; step: number; text: string }
  | {
      kind: 'toolCall';
      step: number;
      callId: string;
      name: string;
      title: string;
      arguments: object;
      status: 'waiting' | 'running';
    }
  | { kind: 'toolOutput'; callId: string; text: string }
  | {
      kind: 'toolResult';
      callId: string;
      status: 'ok' | 'error' | 'cancelled' | 'denied';
      summary: string;
      content?: string;
      exitStatus?: number;
    }
  | {
      kind: 'question';
      promptId: string;
      callId: string;
      promptKind: Prompt['kind'];
      label: string;
      text: string;
    }
  | {
      kind: 'question';
      promptId: string;
      outcome: 'answered' | 'redacted' | 'cancelled';
      by?: string;
      reason?: string;
      answer?: unknown;
      text: string;
    }
  | { kind: 'inquiry'; callIds: string[]; status: 'asked' | 'answered' | 'failed' }
  | { kind: 'summary'; status: 'asked' | 'made' | 'failed' | 'cancelled'; text?: string }
  | { kind: 'edit'; callId: string; changes: ShownChange[] }
  | { kind: 'steered'; text: string }
  | { kind: 'retry'; attempt: number; afterMs: number; reason: string; discardStep?: number }
  | { kind: 'notice'; level: 'info' | 'warning'; text: string }
  | ({ kind: 'usage' } & Usage)
  | { kind: 'title'; title: string };

type OfConversation = { conversationId: string };
type OfTurn = OfConversation & { turnId: string };
type Nothing = Record<string, never>;

export type TurnUpdate = OfTurn & { seq: number; update: Update };

export interface TurnCompleted extends OfTurn {
  outcome: Outcome;
  answer?: string;
  structured?: unknown;
  error?: { code: string; message: string };
  usage: Usage;
  refusals: { tool: string; arguments: unknown; reason: string; key?: string; cause?: string; text: string }[];
  prompts: Prompt[];
}

/** A provider that can have a key, and where its key comes from. */
type KeyPlace = { provider: string; from?: string };

export type McpServer = {
  name: string;
  state: 'off' | 'ready' | 'failed';
  place?: string;
  tools?: { name: string; description: string }[];
  tokens?: number;
  problems?: string[];
  log?: string;
};

type Status = {
  health: 'ok' | 'warning' | 'error';
  busy: boolean;
  message?: string;
  model?: string;
  pendingPrompts: number;
};

/** Requests of this editor: what each sends and gets. */
export interface ServerRequests {
  'aside/approval/list': [{ folder?: string }, { items: Approval[] }];
  'aside/approval/revoke': [{ approvalId: string; folder?: string }, Nothing];
  'aside/conversation/delete': [OfConversation, Nothing];
  'aside/conversation/fork': [OfConversation & { turnId?: string }, OfConversation];
  'aside/conversation/ledger': [OfConversation, { text: string }];
  'aside/conversation/list': [
    { cursor?: string; limit?: number; query?: string },
    { items: ConversationItem[]; nextCursor?: string },
  ];
  'aside/conversation/read': [
    OfConversation & { after?: string; limit?: number },
    { turns: ReadTurn[]; next?: string },
  ];
  'aside/conversation/rename': [OfConversation & { title: string }, Nothing];
  'aside/conversation/transcript': [OfConversation, { text: string }];
  'aside/key/list': [Nothing, { providers: KeyPlace[] }];
  'aside/key/set': [{ provider: string; key?: string }, Nothing];
  'aside/mcp/list': [{ folder?: string }, { servers: McpServer[] }];
  'aside/model/list': [Nothing, { models: Model[] }];
  'aside/prompt/pending': [Nothing, { prompts: Prompt[] }];
  'aside/turn/cancel': [{ turnId: string }, Nothing];
  'aside/turn/resume': [OfConversation, { turnId: string }];
  'aside/turn/start': [StartTurn, OfTurn];
  'aside/turn/steer': [{ turnId: string; message: string }, Nothing];
  'aside/turn/undo': [{ turnId: string; uris?: string[] }, { files: string[]; untracked: boolean }];
}

/** Requests of the server: what each brings, and what it is answered. */
export interface ClientRequests {
  'aside/document/save': [{ uri: string }, Nothing];
  'aside/prompt': [Prompt, Answer];
  'aside/tool/call': [
    { callId: string; name: string; arguments: object; root: string },
    { content: string; isError: boolean },
  ];
}

/** Notifications of the server. */
export interface ClientNotifications {
  'aside/conversation/changed': OfConversation;
  'aside/prompt/dismiss': {
    promptId: string;
    reason: 'withdrawn' | 'remembered' | 'permitted' | 'answered_elsewhere';
  };
  'aside/status': Status;
  'aside/turn/completed': TurnCompleted;
  'aside/turn/update': TurnUpdate;
}
