import type { UnseenClient } from '#client';
import type { Interruption } from '../interruption.js';
import type { Output } from '../terminal/output.js';

/** The context of each command that calls the service. */
export interface Context {
  readonly client: UnseenClient;
  /** URL of the service as given. It is part of a job's identity. */
  readonly url: string;
  readonly output: Output;
  /** Where progress and complaints go. */
  readonly errors: NodeJS.WriteStream;
  readonly json: boolean;
  readonly quiet: boolean;
  readonly interruption: Interruption;
  /** The folder for checkpoints. Undefined if the environment names none. */
  readonly stateFolder: string | undefined;
}

/** Reports the result, as a line of text or as JSON. */
export async function tell({ output, json, quiet }: Context, value: unknown, line: string): Promise<void> {
  if (quiet) return;
  await (json ? output.json(value) : output.line(line));
}
