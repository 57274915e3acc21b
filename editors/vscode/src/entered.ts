// The keys that a person entered, by provider: what is kept of them, and what a server has to hear.

export type Entered = Record<string, string>;

/** The keys in a text of the secret storage. */
export const entered = (kept: string | undefined): Entered => JSON.parse(kept ?? '{}') as Entered;

/** What is kept after one was entered, or forgotten without a `key`. */
export function keptWith(kept: string | undefined, provider: string, key?: string): string {
  // One without a value is left out.
  return JSON.stringify({ ...entered(kept), [provider]: key });
}

/** What a server that has the keys of these providers has to hear: those that are gone, and all that are there. */
export function toHand(has: Iterable<string>, now: Entered): { provider: string; key?: string }[] {
  const gone = [...has].filter((provider) => !(provider in now));
  return [
    ...gone.map((provider) => ({ provider })),
    ...Object.entries(now).map(([provider, key]) => ({ provider, key })),
  ];
}
