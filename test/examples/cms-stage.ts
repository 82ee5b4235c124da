import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { until } from '../support/until.js';
import { startProgram, type Program, type Running } from './worker-programs.js';
import { Gate, type Reply } from './worker-site.js';

const CMS: Program = {
  name: 'CMS',
  why: '',
  command: (folder) => [process.execPath, join(folder, 'dist', 'main.js')],
};

/** An article as listed by the CMS. */
export interface Article {
  readonly id: number;
  readonly url: string;
  readonly title: string;
  readonly origin: string;
  readonly version: number;
  readonly body?: string;
}

interface Answer {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** A CMS process that can be killed and started again on its data. */
export class Cms {
  private running: Running | undefined;
  private base = '';

  private constructor(
    private readonly example: string,
    private readonly dataFolder: string,
    private readonly args: readonly string[],
  ) {}

  /** `args` is the arguments without the port and the data folder. */
  static async start(example: string, args: readonly string[]): Promise<Cms> {
    const cms = new Cms(example, await mkdtemp(join(tmpdir(), 'unseen-cms-')), args);
    await cms.start();
    return cms;
  }

  get url(): string {
    return this.base;
  }

  async start(): Promise<void> {
    const running = this.again();
    this.running = running;
    await until('the CMS listens', async () => {
      const [, url] = /is at (http:\S+)/.exec(running.stdout()) ?? [];
      if (running.child.exitCode !== null) throw new Error(`the CMS did not start: ${running.stderr()}`);
      this.base = url ?? '';
      return url !== undefined;
    });
  }

  /** Starts another process on the same data, or, with `beside`, on the data in that subfolder. */
  again(beside = ''): Running {
    const data = join(this.dataFolder, beside);
    return startProgram(CMS, this.example, ['--port', '0', '--data', data, ...this.args]);
  }

  /** Kills the process without a chance to clean up. */
  async kill(): Promise<void> {
    this.running?.child.kill('SIGKILL');
    await this.running?.ended;
  }

  /** Stops the process and returns its exit code. */
  async stop(): Promise<number | NodeJS.Signals | null | undefined> {
    this.running?.child.kill('SIGTERM');
    return this.running?.ended;
  }

  said(): string {
    return this.running?.stderr() ?? '';
  }

  async clean(): Promise<void> {
    await this.kill();
    await rm(this.dataFolder, { recursive: true, force: true });
  }

  async call(method: string, path: string, json?: object): Promise<Answer> {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(`${this.base}${path}`, {
      method,
      ...(json && { headers, body: JSON.stringify(json) }),
    });
    const text = await response.text();
    return { status: response.status, body: text === '' ? {} : (JSON.parse(text) as Answer['body']) };
  }

  async articles(): Promise<readonly Article[]> {
    const { body } = await this.call('GET', '/articles?limit=1000');
    return body['articles'] as Article[];
  }

  async byUrl(url: string): Promise<Article | undefined> {
    return (await this.articles()).find((article) => article.url === url);
  }

  /** Waits until Unseen has received all of the CMS's messages. */
  async told(): Promise<void> {
    await until(
      'the outbox is empty',
      async () => (await this.call('GET', '/articles?limit=1')).body['outbox'] === 0,
    );
  }
}

/** A page with an article. */
export function article(title: string, text: string): Reply {
  const body = `<!doctype html><title>${title} | Site</title><nav>Home</nav><h1>${title}</h1><p>${text}</p>`;
  return { headers: { 'content-type': 'text/html; charset=utf-8' }, body };
}

/** A proxy to a service that can withhold the answers to some calls, or fail them. */
export class AnswerKeeper {
  /** Withholds answers to calls whose path ends with this. */
  keeps: string | undefined;
  /** Answers 500 to calls such as `POST /v1/…` that match, without passing them on. */
  refuses: RegExp | undefined;
  readonly gate = new Gate();

  private constructor(
    private readonly server: Server,
    private readonly target: string,
  ) {}

  static async start(target: string): Promise<AnswerKeeper> {
    const server = createServer();
    const keeper = new AnswerKeeper(server, target);
    server.on('request', (request, response) => void keeper.pass(request, response));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return keeper;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async stop(): Promise<void> {
    this.gate.release();
    const closed = once(this.server, 'close');
    this.server.close();
    this.server.closeAllConnections();
    await closed;
  }

  private async pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET', url = '', headers } = request;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (this.refuses?.test(`${method} ${url}`) === true) {
      response.writeHead(500).end();
      return;
    }
    const kept: Record<string, string> = {};
    for (const name of ['content-type', 'idempotency-key', 'accept']) {
      const value = headers[name];
      if (typeof value === 'string') kept[name] = value;
    }
    const body = Buffer.concat(chunks);
    const answer = await fetch(`${this.target}${url}`, {
      method,
      headers: kept,
      ...(body.length > 0 && { body }),
    });
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (this.keeps !== undefined && url.endsWith(this.keeps)) await this.gate.pass();
    response
      .writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
      .end(bytes);
  }
}
