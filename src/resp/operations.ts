import { crc32 } from 'node:zlib';
import { Inject, Injectable } from '@nestjs/common';
import { deadlineIn, type Operation } from '#store';
import { Config } from '../config/config.js';
import { madeOperation } from '../idempotency/operations.js';
import type { Principal } from '../request/principal.js';
import { Clock } from '../store/clock.token.js';

/** Makes operations for commands, which have no ids of their own. */
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

  /** The operation for a command on `target`. No client learns its id, so its fingerprint need not cover its items. */
  of(command: string, target: string, { quota }: Principal): Operation {
    const checksum = crc32(target, crc32(command));
    return { ...madeOperation(checksum, this.clock.now()), deadline: this.deadline(), quota };
  }
}
