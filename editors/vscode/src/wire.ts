// The messages that this editor sends and reads, as ../PROTOCOL.md has them. A test compiles every sample of them against these types.
import type { Range } from 'vscode-languageclient/node';

export const VERSION = 1;

export type Mode = 'ask' | 'edits' | 'plan' | 'auto';
export type Outcome = 'completed' | 'cancelled' | 'failed' | 'interrupted';
export type Health = 'ok' | 'warning' | 'error';

export interface ClientTool {
  name: string;
  description: string;
  inputSchema: object;
}

/** `capabilities.experimental.aside` of this client. */
export interface Capability {
  version: number;
  prompt: boolean;
  secret: boolean;
  save: boolean;
  tools: ClientTool[];
}

/** Settings by who made them; a setting of the workspace never counts as the user's. */
export interface Settings {
  config: object;
  workspaceConfig: object;
  trusted: boolean;
}

export interface Attachment {
  uri: string;
  range?: Range;
  text?: string;
}

export interface StartTurn {
  message: string;
  conversationId?: string;
  turnId?: string;
  attachments?: Attachment[];
  model?: string;
  mode?: Mode;
  toolChoice?: string;
  schema?: object;
  root?: string;
}

export interface ConversationItem {
  conversationId: string;
  title: string;
  createdAt: string;
  updatedAt: string;
  turns: number;
  status: 'idle' | 'running' | 'waiting' | 'interrupted';
  prompts: number;
}

export interface ReadTurn {
  turnId: string;
  startedAt: string;
  message: string;
  updates: Update[];
  outcome?: Outcome;
}

export interface Model {
  id: string;
  contextWindow?: number;
  maxOutput?: number;
  reasoning: boolean;
  prices?: { input: number; output: number; cacheRead?: number; cacheWrite?: number };
}

export type AnswerType =
  | { type: 'boolean' }
  | { type: 'select'; options: string[] }
  | { type: 'multi_select'; options: string[]; minimum?: number; maximum?: number }
  | { type: 'number'; integer?: boolean; minimum?: number; maximum?: number }
  | { type: 'text'; minimum?: number; maximum?: number; format?: 'email' | 'uri' | 'date' | 'date-time' }
  | { type: 'secret' };

export interface Diff {
  kind: 'diff';
  uri: string;
  version?: number;
  old: string;
  new: string;
}

export type Preview = { kind: 'command'; text: string; cwd: string } | Diff | { kind: 'text'; text: string };

export interface Prompt {
  promptId: string;
  conversationId: string;
  turnId: string;
  tool: { name: string; callId: string; arguments: object; server?: string };
  kind: 'question' | 'runTool' | 'deliverResult';
  label: string;
  text: string;
  context?: string;
  answerType: AnswerType;
  optional?: boolean;
  default?: unknown;
  remember: boolean;
  exclusive: boolean;
  source: { type: 'assistant' } | { type: 'tool'; name: string };
  preview?: Preview;
  position: { n: number; of: number };
  resumable?: boolean;
}

export type Answer =
  | { action: 'answer'; answer: unknown; remember?: boolean; newText?: string }
  | { action: 'decline'; note?: string }
  | { action: 'cancel' };

export interface Usage {
  inputTokens: number;
  outputTokens: number;
  cacheReadTokens: number;
  cacheWriteTokens: number;
  costUsd?: number;
  contextWindow?: number;
}

export type Update =
  | { kind: 'text' | 'reasoning'; step: number; text: string }
  | { kind: 'toolCall'; step: number; callId: string; name: string; title: string; arguments: object; status: 'waiting' | 'running' }
  | { kind: 'toolOutput'; callId: string; text: string }
  | { kind: 'toolResult'; callId: string; status: 'ok' | 'error' | 'cancelled' | 'denied'; summary: string; exitStatus?: number; diff?: string }
  | { kind: 'question'; promptId: string; callId: string; promptKind: Prompt['kind']; label: string; text: string }
  | { kind: 'question'; promptId: string; outcome: 'answered' | 'redacted' | 'cancelled'; by?: string; reason?: string; answer?: unknown }
  | { kind: 'inquiry'; callIds: string[]; status: 'asked' | 'answered' | 'failed' }
  | { kind: 'edit'; callId: string; uris: string[] }
  | { kind: 'steered'; text: string }
  | { kind: 'retry'; attempt: number; afterMs: number; reason: string; discardStep?: number }
  | { kind: 'notice'; level: 'info' | 'warning'; text: string }
  | ({ kind: 'usage' } & Usage)
  | { kind: 'title'; title: string };

interface OfTurn {
  conversationId: string;
  turnId: string;
}

export interface TurnUpdate extends OfTurn {
  seq: number;
  update: Update;
}

export interface TurnCompleted extends OfTurn {
  outcome: Outcome;
  answer?: string;
  structured?: unknown;
  error?: { code: string; message: string };
  usage: Usage;
  refusals: { tool: string; arguments: unknown; reason: string; text: string }[];
  prompts: Prompt[];
}

export interface Status {
  health: Health;
  busy: boolean;
  message?: string;
  model?: string;
  pendingPrompts: number;
}

type OfConversation = { conversationId: string };
type Nothing = Record<string, never>;

/** Requests of this editor: what each sends and gets. */
export interface ServerRequests {
  'aside/conversation/delete': [OfConversation, Nothing];
  'aside/conversation/fork': [OfConversation & { turnId?: string }, OfConversation];
  'aside/conversation/list': [{ cursor?: string; limit?: number; query?: string }, { items: ConversationItem[]; nextCursor?: string }];
  'aside/conversation/read': [OfConversation & { after?: string; limit?: number }, { turns: ReadTurn[]; next?: string }];
  'aside/conversation/rename': [OfConversation & { title: string }, Nothing];
  'aside/conversation/transcript': [OfConversation, { text: string }];
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
  'aside/tool/call': [{ callId: string; name: string; arguments: object }, { content: string; isError: boolean }];
}

/** Notifications of the server. */
export interface ClientNotifications {
  'aside/conversation/changed': OfConversation;
  'aside/prompt/dismiss': { promptId: string; reason: 'withdrawn' | 'remembered' | 'permitted' | 'answered_elsewhere' };
  'aside/status': Status;
  'aside/turn/completed': TurnCompleted;
  'aside/turn/update': TurnUpdate;
}
