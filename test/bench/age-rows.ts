import { onBothStores } from './both-stores.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { measured, summary, type Measured as Round, type Workers } from './measured.js';
import { QueueClient, type UrlVerb } from './queue-client.js';
import {
  assertSetUp,
  atMost,
  totalCpu,
  type BenchOptions,
  type Group,
  type Row,
  type Target,
} from './row.js';
import { BASE_SIZE, sizeName } from './sizes.js';
import { lineBody } from './workload.js';

const ERROR_RATE = 1e-4;
const ROUNDS = 5;
const ROUND_ITEMS = 100_000;
const BODY_LINES = 50_000;
const CONNECTIONS = 2;
const MAX_AGE_SECONDS = 864_000;
/** The age of the set whose rounds wait for the next epoch. It is so short that the set's first items expire. */
const SHORT_AGE_SECONDS = 26;
const EPOCH_MS = 2_000;
/** A ring has one set for each eighth of an age, and one that is being emptied. */
const SLICES = 9;

const CASES = ['visit-new', 'visit-seen', 'check-seen', 'check-unseen', 'visit-later', 'forget'] as const;
type Case = (typeof CASES)[number];

/** Limits on the total CPU per URL, relative to a set without an age. */
const LIMITS: Partial<Record<Case, number>> = { 'visit-new': 1.4, 'visit-seen': 1.1 };
const MEMORY_LIMIT = 2.1;

interface Subject {
  readonly name: 'plain' | 'ageing' | 'ageing-later' | 'slices';
  /** One set. A ring has several, the newest last. */
  readonly sets: readonly QueueClient[];
  readonly rounds: Record<Case, Round[]>;
}

/**
 * The cost of an age. Streams to a visited set without an age, to one with an age, and to a workaround without ages: a
 * ring of sets, each emptied when its part of the age has passed. In the ring, a visit checks all sets, then adds to
 * the newest. `visit-later` visits seen URLs in the next epoch, for the first time.
 */
export const ageGroup: Group = {
  name: 'age',
  measure: (options) => onBothStores(options, rowsOf),
};

const bodies = (first: number, count: number): Buffer[] =>
  Array.from({ length: Math.ceil(count / BODY_LINES) }, (_, n) =>
    lineBody('text', first + n * BODY_LINES, Math.min(BODY_LINES, count - n * BODY_LINES)),
  );

async function rowsOf(store: string, port: number, workers: Workers, options: BenchOptions): Promise<Row[]> {
  const size = options.quick ? BASE_SIZE / 10 : BASE_SIZE;
  const items = Math.min(size / 5, ROUND_ITEMS);
  const subjects: Subject[] = [];
  for (const name of ['plain', 'ageing', 'ageing-later', 'slices'] as const)
    subjects.push(await make(port, name, size));
  // The rounds use the URLs from 0 on. In a ring, all other URLs are spread over the slices, as they would be over
  // time.
  const filling = bodies(items, 0.8 * size - items);
  for (const { sets } of subjects) {
    for (const [n, body] of filling.entries()) await sets[n % sets.length]?.stream('visit', body);
  }
  const [known, unseen] = [bodies(0, items), bodies(2 * size, items)];
  // The first round warms up.
  for (let round = 0; round <= (options.quick ? 1 : ROUNDS); round++) {
    // A ring takes as long as all other subjects together, and one round is enough to measure it.
    for (const subject of subjects.filter(({ name }) => name !== 'slices' || round === 1)) {
      const found = await runRound(subject, known, unseen, items, workers);
      if (round > 0) for (const of of CASES) subject.rounds[of].push(...found[of]);
    }
  }
  const rows = rowsFrom(`age-${store}-${sizeName(size)}`, subjects);
  rows.push(...(await memoryRows(`age-${store}-${sizeName(size)}`, subjects, size)));
  for (const { sets } of subjects) for (const set of sets) set.close();
  return rows;
}

function rowsFrom(name: string, subjects: readonly Subject[]): Row[] {
  const [plain] = subjects as [Subject, ...Subject[]];
  return subjects.flatMap((subject) =>
    CASES.filter((of) => subject.rounds[of].length > 0).map((of): Row => {
      const against = of === 'visit-later' ? 'visit-seen' : of;
      const row = { name: `${name}/${subject.name}/${of}`, ...summary(subject.rounds[of]) };
      if (subject === plain) return row;
      const times = totalCpu(row.cpu) / totalCpu(summary(plain.rounds[against]).cpu);
      const limit = subject.name === 'ageing' ? LIMITS[of] : undefined;
      const targets: Target[] =
        limit === undefined ? [] : [atMost('total CPU relative to no age', times, limit, '×')];
      return { ...row, ratio: { value: times, against: `${name}/plain/${against}` }, targets };
    }),
  );
}

async function memoryRows(name: string, subjects: readonly Subject[], size: number): Promise<Row[]> {
  const rows: Row[] = [];
  let plain: number | undefined;
  for (const subject of subjects.filter((one) => one.name !== 'ageing-later')) {
    let bytes = 0;
    for (const set of subject.sets) bytes += (await set.view()).memoryBytes;
    plain ??= bytes;
    const targets =
      subject.name === 'ageing'
        ? [atMost('memory relative to no age', bytes / plain, MEMORY_LIMIT, '×')]
        : [];
    rows.push({ name: `${name}/${subject.name}/memory`, bytesPerItem: bytes / size, targets });
  }
  return rows;
}

const noRounds = () =>
  Object.fromEntries(CASES.map((of) => [of, [] as Round[]])) as unknown as Subject['rounds'];

async function make(port: number, name: Subject['name'], size: number): Promise<Subject> {
  const sets: QueueClient[] = [];
  for (let n = 0; n < (name === 'slices' ? SLICES : 1); n++) {
    const set = new QueueClient(port, `age-${name}-${n}`, CONNECTIONS);
    const age = {
      ageing: MAX_AGE_SECONDS,
      'ageing-later': SHORT_AGE_SECONDS,
      plain: undefined,
      slices: undefined,
    };
    // Every slice contains the URLs that are visited repeatedly, so each must have room for all of them. The slices'
    // error rates add up.
    await set.create(size, name === 'slices' ? ERROR_RATE / SLICES : ERROR_RATE, {
      maxAgeSeconds: age[name],
    });
    sets.push(set);
  }
  return { name, sets, rounds: noRounds() };
}

/** How many URLs got a verdict from any of a ring's sets. */
async function run(
  { sets }: Subject,
  verb: UrlVerb,
  lines: readonly Buffer[],
  verdict: string,
): Promise<number> {
  let count = 0;
  const newest = sets.at(-1);
  for (const body of lines) {
    for (const set of sets) {
      const asked = verb === 'visit' && set !== newest ? 'check' : verb;
      const counts = await set.stream(asked, body);
      if (asked === verb) count += counts[verdict] ?? 0;
    }
  }
  return count;
}

async function runRound(
  subject: Subject,
  known: readonly Buffer[],
  unseen: readonly Buffer[],
  items: number,
  workers: Workers,
): Promise<Record<Case, Round[]>> {
  const rounds = noRounds();
  const later = subject.name === 'ageing-later';
  const time = async (of: Case, verb: UrlVerb, lines: readonly Buffer[], verdict: string): Promise<void> => {
    let count = 0;
    const work = async () => {
      count = await run(subject, verb, lines, verdict);
    };
    rounds[of].push(await measured(workers, items, work));
    const all = verb === 'check' && verdict === 'unseen' ? items * subject.sets.length : items;
    assertSetUp(Math.abs(count - all) < 0.01 * all, `${subject.name} ${of}: ${count} of ${all} ${verdict}`);
  };
  if (later) {
    await nextEpoch();
    await run(subject, 'visit', known, 'new');
    await nextEpoch();
    await time('visit-later', 'visit', known, 'seen');
  } else {
    await time('visit-new', 'visit', known, 'new');
    await time('visit-seen', 'visit', known, 'seen');
    await time('check-seen', 'check', known, 'seen');
    await time('check-unseen', 'check', unseen, 'unseen');
  }
  await time('forget', 'forget', known, 'forgotten');
  if (later) rounds.forget.length = 0;
  return rounds;
}

/** Waits until just after an epoch has started. */
async function nextEpoch(): Promise<void> {
  await sleep(EPOCH_MS - (Date.now() % EPOCH_MS) + 20);
}
