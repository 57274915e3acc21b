// What the view of a conversation is sent, and what it sends: plain data.
import type { Part } from './turnText';
import type { Outcome } from './wire';

export interface ShownTurn {
  id: string;
  message: string;
  outcome?: Outcome | 'elsewhere';
  /** What it cost, in a few words. */
  spent?: string;
  /** Whether it changed files, which can be taken back. */
  changed: boolean;
  /** Whether a key may be what it failed for. */
  lacksKey: boolean;
}

export interface ShownPrompt {
  promptId: string;
  by: string;
  question: string;
  /** More lines, or the whole of what would run or be delivered. */
  detail?: string;
  /** What an answer that lasts is for. */
  about?: string;
  /** A change of a file, by lines that begin with a sign. */
  diff?: string;
  /** Whether the diff has all of the change, so that it can be accepted beside it. */
  isWhole: boolean;
  offers: { label: string; isUsual: boolean }[];
  /** Whether its turn runs, so that it can be declined and skipped. */
  isAsked: boolean;
}

/** Beside the box: what is on, and what was spent. */
export interface ShownState {
  title: string;
  model: string;
  mode: string;
  spent: string;
  context: string;
  works: boolean;
  /** Whether the tour answers whatever is written. */
  tours: boolean;
  /** What to do, where nobody can be asked yet. */
  lacking?: string;
  /** The question that a text in the box answers. */
  asks?: string;
  canResume: boolean;
}

/** A thing to mention: what is written for it, and what it is. */
export interface ShownMention {
  text: string;
  label: string;
  detail: string;
}

export type ToView =
  | { kind: 'talk'; turns: { turn: ShownTurn; parts: readonly Part[] }[] }
  /** A turn as it is now; the parts before `from` are as they were. */
  | { kind: 'turn'; at: number; turn: ShownTurn; from: number; parts: readonly Part[] }
  | { kind: 'prompts'; prompts: ShownPrompt[] }
  | { kind: 'state'; state: ShownState }
  | { kind: 'focus'; on: 'box' | 'answers' }
  /** A text that is no answer, and why. */
  | { kind: 'draft'; text: string; problem: string }
  /** What can be mentioned behind the `@` of this text. */
  | { kind: 'mentions'; typed: string; all: ShownMention[] };

export type FromView =
  | { kind: 'ready' }
  | { kind: 'send'; text: string; instead?: string }
  | { kind: 'answer'; text: string }
  | { kind: 'choose'; promptId: string; at: number }
  | { kind: 'accept' | 'decline' | 'skip'; promptId: string }
  | { kind: 'undo'; turnId: string }
  /** A key is to be entered, with which a turn is asked again. */
  | { kind: 'key'; turnId?: string }
  | { kind: 'copy' | 'insert'; text: string }
  | { kind: 'open'; href: string }
  /** The person types, or is about to. */
  | { kind: 'typing' }
  | { kind: 'mention'; typed: string }
  | { kind: 'stop' | 'resume' | 'new' | 'model' | 'mode' | 'tour' | 'ollama' };
