import { hostWords } from '#bloom';
import type { QueuedHost, QueuedItem } from '../../port/index.js';
import { writeEntry } from '../queue/queue-entry.js';
import { packSettings } from '../scripts/lane-records.js';

/**
 * Packs for each entry its time if it is scheduled, or 0 (6 bytes), the length of its reason, the reason and the entry.
 * `seed` is the seed of a set with perHost. With it, the length of the host's name and the name follow each entry.
 */
export function packEntries(entries: readonly QueuedItem[], seed: Uint8Array | undefined): Buffer {
  return Buffer.concat(
    entries.flatMap((entry) => {
      const time = Buffer.alloc(6);
      time.writeUIntBE(entry.scheduledAt ?? 0, 0, 6);
      const head = [time, withLength(entry.reason ?? '')];
      if (!seed || entry.host === undefined) return [...head, writeEntry(entry)];
      const [, second] = hostWords(entry.host, seed);
      return [...head, writeEntry(entry, second), withLength(entry.host)];
    }),
  );
}

/** Lanes for importHostsScript. If a host appears twice, only its last lane counts. */
export function packHosts(hosts: readonly QueuedHost[], seed: Uint8Array): Buffer {
  const packed = new Map<string, Buffer[]>();
  for (const host of hosts) {
    const { name, readyAt, found, foundUntil } = host;
    const [first = 0, second = 0] = hostWords(name, seed);
    const head = Buffer.alloc(26);
    head.writeUInt32BE(first);
    head.writeUInt32BE(second, 4);
    for (const [n, number] of [readyAt, found, foundUntil].entries()) head.writeUIntBE(number, 8 + 6 * n, 6);
    packed.delete(name);
    packed.set(name, [head, packSettings(host), withLength(name)]);
  }
  return Buffer.concat([...packed.values()].flat());
}

/** A text, preceded by its length in bytes (u16). */
function withLength(text: string): Buffer {
  const packed = Buffer.alloc(2 + Buffer.byteLength(text));
  packed.writeUInt16BE(packed.write(text, 2));
  return packed;
}
