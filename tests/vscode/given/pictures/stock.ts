const STOCK = new Map([['bread', 12], ['milk', 30], ['jam', 5]]);

/** Takes so many of an article, if there are enough. */
export function reserve(article: string, count: number): boolean {
  const left = (STOCK.get(article) ?? 0) - count;
  if (left < 0) return false;
  STOCK.set(article, left);
  return true;
}
