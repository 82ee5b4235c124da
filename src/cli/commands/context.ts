import type { UnseenClient } from '#client';
import type { Interruption } from '../interruption.js';
import type { Output } from '../terminal/output.js';

/** What every command that asks the service has. */
export interface Context {
  readonly client: UnseenClient;
  /** Of the service, as it was given: part of what a job is. */
  readonly url: string;
  readonly output: Output;
  /** Where progress and complaints go. */
  readonly errors: NodeJS.WriteStream;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly interruption: Interruption;
  /** The folder of checkpoints; undefined if the environment names none. */
  readonly stateFolder: string | undefined;
}

/** Says what was done: a line, or JSON. */
export async function tell({ output, json, quiet }: Context, value: unknown, line: string): Promise<void> {
  if (quiet) return;
  await (json ? output.json(value) : output.line(line));
}
