// Small pieces of the page.

/** An element with a class, a text and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  name = '',
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  if (name) element.className = name;
  element.append(...children);
  return element;
}

/**
 * A button. The key Tab passes it by, so that a key that was meant for a text presses nothing: Alt with an arrow goes from one to
 * the next.
 */
export function button(label: string, press: () => void, name = ''): HTMLButtonElement {
  const element = make('button', name, label);
  element.type = 'button';
  element.tabIndex = -1;
  element.addEventListener('click', press);
  return element;
}

/** Puts nodes into an element. One that is there stays as it is, with the focus that it may have. */
export function place(parent: HTMLElement, now: Node[]): void {
  const stays = new Set(now);
  for (const it of [...parent.childNodes]) if (!stays.has(it)) it.remove();
  now.forEach((it, at) => {
    const there = parent.childNodes[at] ?? null;
    if (there !== it) parent.insertBefore(it, there);
  });
}

/** A diff, a line in the colour of its sign. */
export function diff(text: string): HTMLElement {
  const lines = text.replace(/\n+$/, '').split('\n').map((line) => {
    const kind = line.startsWith('+') ? 'added' : line.startsWith('-') ? 'removed' : '';
    return make('span', kind, `${line}\n`);
  });
  return make('pre', 'diff', ...lines);
}

/** How many lines a diff adds and removes. */
export function counts(text: string): string {
  const count = (sign: string) => text.split('\n').filter((it) => it.startsWith(sign)).length;
  return `+${count('+')} −${count('-')}`;
}
