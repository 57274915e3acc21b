import { priceOf } from './price';
import { reserve } from './stock';

export interface Line {
  article: string;
  count: number;
}

export class Cart {
  private readonly lines: Line[] = [];

  add(article: string, count = 1): void {
    const line = this.lines.find((it) => it.article === article);
    if (line) line.count += count;
    else this.lines.push({ article, count });
  }

  total(): number {
    let sum = 0;
    for (const line of this.lines) sum += priceOf(line.article) * line.count;
    return sum;
  }

  order(): boolean {
    return this.lines.every(({ article, count }) => reserve(article, count));
  }
}
