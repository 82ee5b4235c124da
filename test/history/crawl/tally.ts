import { entriesOf, type Entry, type Told } from '../queue-entries.js';
import { eventsOf, type QueueAttempt, type Settle } from '../queue-history.js';

/** A one-line summary of a crawl's URLs. */
export function tally(attempts: readonly QueueAttempt[], seconds: number): string {
  const entries = entriesOf(eventsOf(attempts)).filter(({ discovery }) => discovery?.word === 'new');
  const count = (is: (entry: Entry) => boolean) => entries.filter(is).length;
  const acks = ({ holds }: Entry, word: string | undefined) =>
    holds.flatMap(({ settlings }) => settlings).filter((told) => isAck(told) && told.word === word).length;
  const left = (entry: Entry) => acks(entry, 'acked') === 0;
  const sum = (of: (entry: Entry) => number) => entries.reduce((total, entry) => total + of(entry), 0);
  return [
    `URLs ${entries.length} in ${seconds.toFixed(0)} s`,
    `leases of a URL that were answered ${sum(({ holds }) => holds.length)}`,
    `URLs leased again ${count(({ holds }) => holds.some(({ leased }) => leased.attempt > 1))}`,
    `URLs acknowledged once ${count((entry) => acks(entry, 'acked') === 1)}`,
    `twice ${count((entry) => acks(entry, 'acked') > 1)}`,
    `perhaps ${count((entry) => left(entry) && acks(entry, undefined) > 0)}`,
    `not at all ${count((entry) => left(entry) && acks(entry, undefined) === 0)}`,
  ].join('; ');
}

function isAck({ event }: Told<Settle>): boolean {
  return event.operation.verb === 'ack';
}
