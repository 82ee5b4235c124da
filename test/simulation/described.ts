import type { Call } from './calls.js';

/** The parameters of a call, for people. */
export function described({
  items,
  held,
  letters,
  sync,
  max,
  ms,
  verb,
  ttlMs,
  priority,
  laterMs,
}: Call): string {
  const parts = [
    ...items,
    ...held.map(({ lease, index, item }) => `${lease}.${index}=${item}`),
    ...letters.map(({ item }) => item),
    sync,
    ...(verb === 'lease' ? [`at most ${max}`] : []),
    ...(['lease', 'extend', 'release'].includes(verb) ? [`${ms} ms`] : []),
    ...(verb === 'discover' && priority ? [priority] : []),
    ...(['discover', 'ack'].includes(verb) && laterMs > 0 ? [`in ${laterMs} ms`] : []),
    ...(ttlMs === undefined ? [] : [`for ${ttlMs} ms`]),
  ];
  return parts.filter((part) => part !== '').join(', ');
}
