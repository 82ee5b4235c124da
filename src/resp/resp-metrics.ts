import { Injectable } from '@nestjs/common';
import { Counter, Gauge } from 'prom-client';
import { Metrics } from '../metrics/metrics.js';
import { TalliedCounter } from '../metrics/tallied-counter.js';

/** The metrics of the Redis protocol. */
@Injectable()
export class RespMetrics {
  /** Number of open connections. */
  connections = 0;
  private readonly commands: TalliedCounter;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    const flush = (): void => this.commands.flush();
    this.commands = new TalliedCounter(
      new Counter({
        name: 'unseen_resp_commands_total',
        help: 'Redis protocol commands by outcome: ok, or the error code',
        labelNames: ['command', 'outcome'],
        registers,
        collect: flush,
      }),
    );
    const count = (): number => this.connections;
    new Gauge({
      name: 'unseen_resp_connections',
      help: 'Open Redis protocol connections',
      registers,
      collect() {
        this.set(count());
      },
    });
  }

  /** `command` is a name from the command table, or `unknown`. */
  count(command: string, outcome: string, commands = 1): void {
    this.commands.add(commands, command, outcome);
  }
}
