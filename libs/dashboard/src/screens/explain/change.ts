/** The difference between two texts: the part between their common start and their common end. */
export interface Change {
  readonly head: string;
  readonly gone: string;
  readonly come: string;
  readonly tail: string;
}

/** The shortest such part. The text before it and after it is the same in both. */
export function changeOf(before: string, after: string): Change {
  const [from, to] = [Array.from(before), Array.from(after)];
  const most = Math.min(from.length, to.length);
  let head = 0;
  while (head < most && from[head] === to[head]) head++;
  let tail = 0;
  while (tail < most - head && from.at(-1 - tail) === to.at(-1 - tail)) tail++;
  const part = (text: readonly string[], start: number, end: number): string =>
    text.slice(start, end).join('');
  return {
    head: part(from, 0, head),
    gone: part(from, head, from.length - tail),
    come: part(to, head, to.length - tail),
    tail: part(from, from.length - tail, from.length),
  };
}
