import { Injectable } from '@nestjs/common';
import { Gauge } from 'prom-client';
import { Metrics } from '../metrics/metrics.js';
import { TalliedCounter } from '../metrics/tallied-counter.js';
import { Timings } from '../metrics/timings.js';

/** The metrics of the Redis protocol. */
@Injectable()
export class RespMetrics {
  /** Number of open connections. */
  connections = 0;
  private readonly commands: TalliedCounter;
  private readonly batches: Timings;

  constructor({ registry }: Metrics) {
    const registers = [registry];
    this.commands = new TalliedCounter({
      name: 'unseen_resp_commands_total',
      help: 'Redis protocol commands by outcome: ok, or the error code',
      labelNames: ['command', 'outcome'],
      registers,
    });
    this.batches = new Timings({
      name: 'unseen_resp_batch_duration_seconds',
      help: 'Time of a command, or of equal commands that ran as one batch, including the wait for a turn',
      labels: ['command'],
      registry,
    });
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

  /** `command`: see `count`. */
  time(command: string, seconds: number): void {
    this.batches.observe(seconds, command);
  }

  /** `command` is a name from the command table, or `unknown`. */
  count(command: string, outcome: string, commands = 1): void {
    this.commands.add(commands, command, outcome);
  }
}
