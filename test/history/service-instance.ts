import { setTimeout as sleep } from 'node:timers/promises';
import { startProcess, type ServiceProcess } from '../support/service-process.js';
import type { Instance } from './client.js';

/** A place where the service runs. It is a process, and its successors on the same data. */
export class ServiceInstance implements Instance {
  url = '';
  private process: ServiceProcess | undefined;

  private constructor(
    private readonly env: Readonly<Record<string, string>>,
    private readonly failures: string[],
  ) {}

  /** `failures` collects its processes' misbehaviour. */
  static async start(env: Readonly<Record<string, string>>, failures: string[]): Promise<ServiceInstance> {
    const instance = new ServiceInstance(env, failures);
    try {
      await instance.start();
    } catch (error) {
      await instance.stop();
      throw error;
    }
    return instance;
  }

  /** Sends SIGKILL, which cuts off requests in flight. No requests are accepted until the next start. */
  async kill(): Promise<void> {
    const { process } = this;
    this.process = undefined;
    if (!process) return;
    const { exitCode, signalCode } = process.child;
    if (exitCode !== null || signalCode !== null) {
      this.failures.push(
        `a service ended by itself (${exitCode ?? signalCode}): ${process.stderr().slice(-500)}`,
      );
    }
    await process.clean();
  }

  async restart(): Promise<void> {
    await this.kill();
    await this.start();
  }

  /** Sends SIGSTOP. The process keeps its connections but does nothing. */
  async pause(ms: number): Promise<void> {
    const child = this.process?.child;
    child?.kill('SIGSTOP');
    await sleep(ms);
    child?.kill('SIGCONT');
  }

  async stop(): Promise<void> {
    await this.kill();
  }

  private async start(): Promise<void> {
    this.process = await startProcess({ ...this.env, LOG_LEVEL: 'error' });
    this.url = await this.process.url();
  }
}
