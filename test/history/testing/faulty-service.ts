import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Random } from '../../support/random.js';
import type { Instance } from '../client.js';
import type { Subject, Verb } from '../history.js';
import type { System } from '../system.js';
import { FaultyItems, LATER_MS, type Batch, type Defect } from './faulty-items.js';

/** Percentage of requests that are refused, or whose connections break, before or after the change. */
const MISHAPS = 12;

/** The routes of a run's filters, with mishaps that are not defects, and with at most one defect. */
export class FaultyService implements System {
  readonly instances: Instance[] = [];
  readonly faults = [];
  readonly failures = [];
  private readonly items: FaultyItems;

  private constructor(
    private readonly server: Server,
    private readonly random: Random,
    private readonly defect: Defect | undefined,
  ) {
    this.items = new FaultyItems(random, defect);
    server.on('request', (incoming: IncomingMessage, outgoing: ServerResponse) => {
      void this.serve(incoming, outgoing);
    });
  }

  static async start(seed: number, defect?: Defect): Promise<FaultyService> {
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
    const [, , , subject, , verb] = (incoming.url ?? '').split('/') as (string | undefined)[];
    if (subject === undefined) {
      outgoing.writeHead(201).end('{}');
    } else if (verb === undefined) {
      outgoing.writeHead(200).end(JSON.stringify({ items: this.items.held(subject as Subject) }));
    } else {
      const key = incoming.headers['idempotency-key'];
      await this.answer(outgoing, {
        subject: subject as Subject,
        verb: verb as Verb,
        items: (JSON.parse(text) as { items: string[] }).items,
        key: typeof key === 'string' ? key : randomUUID(),
      });
    }
  }

  private async answer(outgoing: ServerResponse, batch: Batch): Promise<void> {
    await sleep(this.random.below(4));
    const mishap =
      this.random.below(100) < MISHAPS ? this.random.pick(['break', 'refuse'] as const) : undefined;
    const done = mishap === undefined || this.random.below(2) === 0;
    const results = done ? await this.items.execute(batch, mishap === undefined) : [];
    if (mishap === 'break') {
      outgoing.destroy();
    } else if (mishap === 'refuse') {
      this.refuse(outgoing, batch, 503, 'STORE_UNAVAILABLE');
    } else if (this.items.isNow('answers 500')) {
      this.refuse(outgoing, batch, 500, 'INTERNAL_ERROR');
    } else if (this.items.isNow('answers 503 STORE_DATA_LOST')) {
      this.refuse(outgoing, batch, 503, 'STORE_DATA_LOST');
    } else {
      outgoing.writeHead(200, { 'idempotency-key': this.items.idOf(batch) }).end(JSON.stringify({ results }));
    }
  }

  private refuse(outgoing: ServerResponse, { key }: Batch, status: number, code: string): void {
    const retryAfter = this.defect !== 'answers 503 without Retry-After' && { 'retry-after': '1' };
    outgoing.writeHead(status, { 'idempotency-key': key, ...retryAfter }).end(JSON.stringify({ code }));
  }
}
