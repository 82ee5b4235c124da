import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import type { Instance } from '../client.js';
import type { Subject, Verb } from '../history.js';
import type { HostLimits, QueueOperation } from '../queue-history.js';
import type { System } from '../system.js';
import { DEFECTS, FaultyItems, LATER_MS, type Batch, type Defect } from './faulty-items.js';
import { FaultyQueue, QUEUE_DEFECTS, type QueueDefect } from './faulty-queue.js';
import { queueBody, queueOperation } from './queue-route.js';

/** What percentage of requests is refused, or loses its connection, before or after the change. */
const MISHAPS = 12;

/** The routes for a run's filters, with mishaps that aren't defects, and with at most one defect. */
export class FaultyService implements System {
  readonly instances: Instance[] = [];
  readonly faults = [];
  readonly failures = [];
  private readonly items: FaultyItems;
  private readonly queue: FaultyQueue;
  private readonly defect: Defect | undefined;

  private constructor(
    private readonly server: Server,
    private readonly random: Random,
    defect: Defect | QueueDefect | undefined,
  ) {
    this.defect = DEFECTS.find((one) => one === defect);
    this.items = new FaultyItems(random, this.defect);
    this.queue = new FaultyQueue(random, isOfQueue(defect) ? defect : undefined);
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      void this.serve(incoming, outgoing);
    });
  }

  static async start(seed: number, defect?: Defect | QueueDefect): Promise<FaultyService> {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const service = new FaultyService(server, new Random(seed), defect);
    service.instances.push({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` });
    return service;
  }

  async settle(): Promise<void> {
    await sleep(2 * LATER_MS);
    this.items.restart();
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of incoming.setEncoding('utf8')) text += chunk as string;
    const [, , of, subject, room, verb] = (incoming.url ?? '').split('/') as (string | undefined)[];
    const header = incoming.headers['idempotency-key'];
    const key = typeof header === 'string' ? header : randomUUID();
    if (room === 'hosts') {
      this.queue.lift();
      outgoing.writeHead(200).end('{}');
    } else if (of === 'visited-sets' && verb !== undefined) {
      const operation = queueOperation(verb as QueueOperation['verb'], text);
      await this.answer(outgoing, key, () => queueBody(this.queue.execute(operation, key)));
    } else if (subject === undefined) {
      this.queue.limit((JSON.parse(text) as { perHost?: HostLimits }).perHost);
      outgoing.writeHead(201).end('{}');
    } else if (verb === undefined) {
      outgoing.writeHead(200).end(JSON.stringify({ items: this.items.held(subject as Subject) }));
    } else {
      const { items } = JSON.parse(text) as { items: string[] };
      const batch: Batch = { subject: subject as Subject, verb: verb as Verb, items, key };
      await this.answer(outgoing, this.items.idOf(batch), async (answered) => ({
        results: await this.items.execute(batch, answered),
      }));
    }
  }

  /** `execute` receives whether the caller will get its answer. */
  private async answer(
    outgoing: ServerResponse,
    id: string,
    execute: (answered: boolean) => unknown,
  ): Promise<void> {
    await sleep(this.random.below(4));
    const mishap =
      this.random.below(100) < MISHAPS ? this.random.pick(['break', 'refuse'] as const) : undefined;
    const done = mishap === undefined || this.random.below(2) === 0;
    const body: unknown = done ? await execute(mishap === undefined) : undefined;
    if (mishap === 'break') {
      outgoing.destroy();
    } else if (mishap === 'refuse') {
      this.refuse(outgoing, id, 503, 'STORE_UNAVAILABLE');
    } else if (this.items.isNow('answers 500')) {
      this.refuse(outgoing, id, 500, 'INTERNAL_ERROR');
    } else if (this.items.isNow('answers 503 STORE_DATA_LOST')) {
      this.refuse(outgoing, id, 503, 'STORE_DATA_LOST');
    } else {
      outgoing.writeHead(200, { 'idempotency-key': id }).end(JSON.stringify(body));
    }
  }

  private refuse(outgoing: ServerResponse, id: string, status: number, code: string): void {
    const retryAfter = this.defect !== 'answers 503 without Retry-After' && { 'retry-after': '1' };
    outgoing.writeHead(status, { 'idempotency-key': id, ...retryAfter }).end(JSON.stringify({ code }));
  }
}

function isOfQueue(defect: string | undefined): defect is QueueDefect {
  return defect !== undefined && defect in QUEUE_DEFECTS;
}
