import type { ProblemError } from '../errors/problem.js';

/** The options of UNSEEN.*, each with the equivalent member of an HTTP body. */
export const MEMBERS = {
  KEY: 'key',
  TTL: 'ttlSeconds',
  PRIORITY: 'priority',
  DELAY: 'delaySeconds',
  MAX: 'max',
  SECONDS: 'leaseSeconds',
  MAXPERHOST: 'maxPerHost',
  BLOCK: 'waitMs',
  AGAIN: 'againAfterSeconds',
  HOSTDELAY: 'hostDelaySeconds',
  REASON: 'reason',
  NOCOUNT: 'countAttempt',
} as const;

export type OptionName = keyof typeof MEMBERS;

const NAMES: ReadonlyMap<string, string> = new Map(
  Object.entries(MEMBERS).map(([name, member]) => [`#/${member}`, name]),
);

/** An error's detail, with option names in place of the members and headers of HTTP. */
export function detailWithOptions({ message, errors }: ProblemError): string {
  if (!errors?.some(({ pointer }) => NAMES.has(pointer))) return message.replaceAll('Idempotency-Key', 'KEY');
  return errors
    .map(({ pointer, detail }) => {
      const name = NAMES.get(pointer);
      // A detail begins with the name of its member.
      return name === undefined ? detail : name + detail.slice(pointer.length - '#/'.length);
    })
    .join('; ');
}
