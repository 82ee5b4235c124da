import { crc32 } from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { deadlineIn, type Operation } from '#store';
import { Config } from '../config/config.js';
import { madeOperation, operationWith, routeText } from '../idempotency/operations.js';
import type { Principal } from '../request/principal.js';
import { Clock } from '../store/clock.token.js';

/** The HTTP request that does the same as a command. */
export interface SameRequest {
  /** The operation key. Absent: the operation gets an id that no client learns. */
  readonly key: string | undefined;
  /** The pattern of the route, which is a POST. */
  readonly route: string;
  readonly body: object;
}

/** Makes operations for commands. */
@Injectable()
export class Operations {
  constructor(
    @Inject(Config) private readonly config: Pick<Config, 'requestTimeoutMs'>,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** When the caller stops waiting, in ms since the epoch. */
  deadline(): number {
    return deadlineIn(this.config.requestTimeoutMs);
  }

  /**
   * The operation for a command on `target`. With a key, it is the same operation as the request with this key over
   * HTTP, so a repeat may use either. Without a key, the fingerprint need not cover the items, because no client can
   * repeat the operation. Throws as `operationOf`.
   */
  of(command: string, target: string, { quota }: Principal, request?: SameRequest): Operation {
    const common = { deadline: this.deadline(), quota };
    if (request?.key === undefined) {
      const checksum = crc32(target, crc32(command));
      return { ...madeOperation(checksum, this.clock.now()), ...common };
    }
    const { key, route, body } = request;
    return { ...operationWith(key, routeText(`POST ${route}`, target), JSON.stringify(body)), ...common };
  }
}
