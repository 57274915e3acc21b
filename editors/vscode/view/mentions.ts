// The list of what can be mentioned, above the box, while a word behind an `@` is typed there.
import type { ShownMention } from '../src/shown';
import { make } from './elements';

export class Mentions {
  readonly element = make('div', 'mentions');
  private all: ShownMention[] = [];
  private at = 0;

  /**
   * @param ask asks for what can be mentioned and has this in it
   * @param changed the text of the box is another one
   */
  constructor(
    private readonly box: HTMLTextAreaElement,
    private readonly ask: (typed: string) => void,
    private readonly changed: () => void,
  ) {
    this.element.role = 'listbox';
    this.element.ariaLabel = 'What can be mentioned';
    this.element.id = 'mentions';
    box.setAttribute('aria-controls', this.element.id);
    box.setAttribute('aria-autocomplete', 'list');
    box.addEventListener('input', () => this.look());
    box.addEventListener('blur', () => this.draw([]));
    this.draw([]);
  }

  /** Shows what can be mentioned, if that is what was asked for last. */
  show(typed: string, all: ShownMention[]): void {
    if (typed === this.typed) this.draw(all);
  }

  /** Whether a key was meant for the list. */
  takes({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
    if (!this.all.length || ctrlKey || metaKey || altKey) return false;
    if (key === 'Escape') this.draw([]);
    else if (key === 'ArrowDown' || key === 'ArrowUp') this.move(key === 'ArrowDown' ? 1 : -1);
    else if (key === 'Enter' || key === 'Tab') this.accept(this.at);
    else return false;
    return true;
  }

  /** What stands between an `@` and the cursor; undefined elsewhere. */
  private get typed(): string | undefined {
    const before = this.box.value.slice(0, this.box.selectionStart);
    return /(?:^|\s)@(\S*)$/.exec(before)?.[1];
  }

  private look(): void {
    const { typed } = this;
    if (typed === undefined) this.draw([]);
    else this.ask(typed);
  }

  private move(step: number): void {
    this.at = (this.at + step + this.all.length) % this.all.length;
    this.mark();
  }

  private accept(at: number): void {
    const [chosen, { typed }] = [this.all[at], this];
    if (!chosen || typed === undefined) return;
    const end = this.box.selectionStart;
    const isFolder = chosen.text.endsWith('/');
    this.box.setRangeText(`${chosen.text}${isFolder ? '' : ' '}`, end - typed.length - 1, end, 'end');
    this.draw([]);
    this.changed();
    // What lies in the folder comes next.
    if (isFolder) this.look();
  }

  private draw(all: ShownMention[]): void {
    [this.all, this.at] = [all, 0];
    this.element.hidden = !all.length;
    const rows = all.map(({ label, detail }, at) => {
      const row = make('div', 'mention', make('span', '', label), make('span', 'detail', detail));
      row.role = 'option';
      row.id = `mention-${at}`;
      // The box keeps the focus.
      row.addEventListener('mousedown', (event) => {
        event.preventDefault();
        this.accept(at);
      });
      return row;
    });
    this.element.replaceChildren(...rows);
    this.mark();
  }

  private mark(): void {
    [...this.element.children].forEach((row, at) => {
      row.ariaSelected = String(at === this.at);
      if (at === this.at) row.scrollIntoView({ block: 'nearest' });
    });
    if (this.all.length) this.box.setAttribute('aria-activedescendant', `mention-${this.at}`);
    else this.box.removeAttribute('aria-activedescendant');
  }
}
