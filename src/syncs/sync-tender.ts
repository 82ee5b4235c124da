import {
  Inject,
  Injectable,
  type BeforeApplicationShutdown,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import type { Logger } from 'pino';
import { every } from '#store';
import { Config } from '../config/config.js';
import { Lifecycle } from '../http/lifecycle.js';
import { RootLogger } from '../logging/logger.js';
import { Clock } from '../store/clock.token.js';
import { Store } from '../store/store.token.js';

const MOST_MS = 10_000;
const LEAST_MS = 1_000;
/** How late the service may abandon an idle sync, as a fraction of the allowed idle time. */
const SHARE_OF_IDLE = 1 / 4;

/** Maintains the store's syncs periodically, until the service begins to end. */
@Injectable()
export class SyncTender implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private end: () => void = () => undefined;
  private running: Promise<void> | undefined;
  /** True if the last run failed. The failure has been logged. */
  private failing = false;

  constructor(
    @Inject(Store) private readonly store: Pick<Store, 'syncs'>,
    @Inject(Config) private readonly config: Pick<Config, 'syncIdleMs'>,
    @Inject(RootLogger) private readonly logger: Logger,
    private readonly lifecycle: Lifecycle,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  onApplicationBootstrap(): void {
    const pauseMs = Math.max(LEAST_MS, Math.min(MOST_MS, this.config.syncIdleMs * SHARE_OF_IDLE));
    this.end = every(this.clock, pauseMs, () => void this.tend());
    this.lifecycle.ending.addEventListener('abort', () => this.end(), { once: true });
  }

  /** Waits for a run in progress, because the store is closed next. */
  async beforeApplicationShutdown(): Promise<void> {
    this.end();
    await this.running;
  }

  /** Runs once, unless a run is in progress. Never throws. Logs only the first of several failures in a row. */
  tend(): Promise<void> {
    this.running ??= this.try().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async try(): Promise<void> {
    try {
      await this.store.syncs.tend();
      this.failing = false;
    } catch (error) {
      if (!this.failing) this.logger.warn({ err: error }, 'sync maintenance failed');
      this.failing = true;
    }
  }
}
