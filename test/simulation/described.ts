import type { Call } from './calls.js';

/** A call's parameters, for people. */
export function described({
  items,
  held,
  letters,
  sync,
  max,
  ms,
  verb,
  ttlMs,
  onlyAbsent,
  priority,
  laterMs,
  ...call
}: Call): string {
  const parts = [
    ...items,
    ...held.map(({ lease, index, item }) => `${lease}.${index}=${item}`),
    ...letters.map(({ item }) => item),
    ...call.listed.map(({ item, birth }) => `${item}.${birth}`),
    sync,
    ...(verb === 'lease' ? [`at most ${max}`] : []),
    ...(['set-host', 'drop-host', 'host'].includes(verb) ? [call.host] : []),
    ...(verb === 'set-host' ? [JSON.stringify(call.settings)] : []),
    ...(verb === 'entries' ? [JSON.stringify(call.query)] : []),
    ...(verb === 'lease' && call.maxPerHost !== undefined ? [`${call.maxPerHost} per host`] : []),
    ...(verb === 'release' && !call.countAttempt ? ['not counted'] : []),
    ...(verb === 'release' && call.hostDelayMs > 0 ? [`hosts wait ${call.hostDelayMs} ms`] : []),
    ...(['lease', 'extend', 'release'].includes(verb) ? [`${ms} ms`] : []),
    ...(verb === 'discover' && priority ? [priority] : []),
    ...(['discover', 'ack'].includes(verb) && laterMs > 0 ? [`in ${laterMs} ms`] : []),
    ...(verb === 'add' && onlyAbsent ? ['only absent'] : []),
    ...(ttlMs === undefined ? [] : [`for ${ttlMs} ms`]),
  ];
  return parts.filter((part) => part !== '').join(', ');
}
