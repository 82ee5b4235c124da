/** Functions that take quadratic time in different ways, to prove that counted steps detect it. */

export function byRounds(url: string): number {
  let sum = 0;
  for (let at = 0; at < url.length; at++) {
    for (let n = 0; n < url.length; n += 16) sum ^= n;
  }
  return sum;
}

export function byCalls(url: string): number {
  const depth = (n: number): number => (n === 0 ? 0 : 1 + depth(n - 1));
  let sum = 0;
  for (let at = 0; at < url.length; at += 16) sum += depth(at);
  return sum;
}

export function bySlices(url: string): number {
  let count = 0;
  for (let rest = url; rest !== ''; rest = rest.slice(1)) count++;
  return count;
}

/** Searches for a missing character from each position. */
export function bySearches(url: string): number {
  let found = 0;
  for (let at = 0; at < url.length; at++) if (url.indexOf('\0', at) !== -1) found++;
  return found;
}

export function byMatches(url: string): number {
  let found = 0;
  for (let at = 0; at < url.length; at += 16) if (/\0/.test(url)) found++;
  return found;
}

export function byReplacements(url: string): string {
  let text = url;
  while (text.includes('b')) text = text.replace('b', 'c');
  return text;
}

export function byCopies(url: string): string[] {
  let parts: string[] = [];
  for (const part of url.split('a')) parts = [...parts, part];
  return parts;
}

export function byCallbacks(url: string): number {
  const parts = url.split('a');
  return parts.filter((part) => parts.every((other) => other !== `${part}!`)).length;
}
