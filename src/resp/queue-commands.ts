import { Inject, Injectable, type Type } from '@nestjs/common';
import type { Operation } from '#store';
import { Config } from '../config/config.js';
import { invalid } from '../errors/problem.js';
import { show } from '../errors/show.js';
import { validateShallow } from '../validation/shallow.pipe.js';
import { CrawlQueueService } from '../visited-sets/crawl-queue.service.js';
import { IdsPipe } from '../visited-sets/ids.pipe.js';
import {
  AckDto,
  ExtendDto,
  LeaseDto,
  MAX_WAIT_SECONDS,
  ReleaseDto,
} from '../visited-sets/visited-set.dto.js';
import type { CommandArguments, DataCall, DataCommand } from './command.js';
import { Operations } from './operations.js';
import type { OptionName } from './option-names.js';
import { optionsIn } from './options.js';
import type { Reply } from './reply-writer.js';
import { Targets } from './targets.js';

const MAX_WAIT_MS = MAX_WAIT_SECONDS * 1_000;

/** The commands on a visited set's queue. They do the same as the routes for the queue. */
@Injectable()
export class QueueCommands {
  /** The commands, by name. */
  readonly table: Readonly<Record<string, DataCommand>> = {
    'UNSEEN.LEASE': { kind: 'data', access: 'write', least: 1, run: (args, call) => this.lease(args, call) },
    'UNSEEN.ACK': this.settling('ack', AckDto, ['KEY', 'AGAIN'], (...call) => this.queue.ack(...call)),
    'UNSEEN.RELEASE': this.settling(
      'release',
      ReleaseDto,
      ['KEY', 'DELAY', 'HOSTDELAY', 'REASON', 'NOCOUNT'],
      (...call) => this.queue.release(...call),
    ),
    'UNSEEN.EXTEND': this.settling('extend', ExtendDto, ['KEY', 'SECONDS'], (...call) =>
      this.queue.extend(...call),
    ),
  };
  private readonly ids: IdsPipe;

  constructor(
    @Inject(Config) config: Config,
    private readonly queue: CrawlQueueService,
    private readonly targets: Targets,
    private readonly operations: Operations,
  ) {
    this.ids = new IdsPipe(config);
  }

  private async lease(args: CommandArguments, { caller, command, client }: DataCall): Promise<Reply> {
    const { key, body } = optionsIn(args, ['KEY', 'MAX', 'SECONDS', 'MAXPERHOST', 'BLOCK']);
    const { waitMs, ...others } = body;
    const asked = { max: 1, leaseSeconds: 60, ...others };
    const dto = Object.assign(validateShallow(LeaseDto, asked), waitIn(waitMs));
    const { name } = await this.targets.openSet(args.text(0), caller);
    // The wait isn't part of the operation, so a repeat may wait longer or shorter, as over HTTP.
    const request = { key, route: `${QUEUE}/lease`, body: asked };
    const operation = this.operations.of(command, name, caller, request);
    const { urls } = await this.queue.lease(name, dto, operation, client);
    return (write) => {
      write.array(urls.length);
      for (const entry of urls) {
        const members = Object.entries(entry) as [string, string | number][];
        write.map(members.length);
        for (const [member, value] of members) {
          write.bulk(member);
          if (typeof value === 'number') write.integer(value);
          else write.bulk(value);
        }
      }
    };
  }

  /** A command that replies with one word per id. */
  private settling<T extends object>(
    verb: string,
    dto: Type<T>,
    options: readonly OptionName[],
    act: (name: string, dto: T, operation: Operation) => Promise<{ readonly results: readonly string[] }>,
  ): DataCommand {
    return {
      kind: 'data',
      access: 'write',
      least: 3,
      run: async (args, { caller, command }) => {
        const { key, body, firstItem } = optionsIn(args, options, 'IDS');
        const request = { ids: args.all().slice(firstItem), ...body };
        const asked = this.ids.transform(request, { type: 'body', metatype: dto }) as T;
        const { name } = await this.targets.openSet(args.text(0), caller);
        const operation = this.operations.of(command, name, caller, {
          key,
          route: `${QUEUE}/${verb}`,
          body: request,
        });
        const { results } = await act(name, asked, operation);
        return (write) => {
          write.array(results.length);
          for (const word of results) write.bulk(word);
        };
      },
    };
  }
}

const QUEUE = '/v1/visited-sets/:name/queue';

/** The waiting time that BLOCK sets. Refuses 0, which means no limit in Redis. */
function waitIn(waitMs: unknown): { readonly waitSeconds?: number } {
  if (waitMs === undefined) return {};
  if (Number.isInteger(waitMs) && (waitMs as number) > 0 && (waitMs as number) <= MAX_WAIT_MS)
    return { waitSeconds: (waitMs as number) / 1_000 };
  const detail = `waitMs must be a whole number from 1 to ${MAX_WAIT_MS}, not ${show(waitMs)}`;
  throw invalid('#/waitMs', detail);
}
