import { UnavailableError, UnseenClient, type ClientOptions } from '#client';
import { commandLineEnvironment } from '../config/config.js';
import type { Context } from './commands/context.js';
import { oneLine, reasonOf, UsageError } from './ending.js';
import type { Interruption } from './interruption.js';
import { Output } from './terminal/output.js';

export const DEFAULT_URL = 'http://127.0.0.1:3000';
/** Long enough for the service to restart. */
const PATIENCE_MS = 120_000;
/** Clears the progress line, if there is one. */
const CLEAR_LINE = '\r\u001b[K';

/** Options for all commands. */
export interface GlobalOptions {
  readonly url?: string;
  readonly json?: boolean;
  readonly quiet?: boolean;
}

/** The context for a command that calls the service. Throws UsageError for an invalid URL or key. */
export function contextOf(
  { url, json = false, quiet = false }: GlobalOptions,
  interruption: Interruption,
): Context {
  const environment = commandLineEnvironment();
  const service = url ?? environment.url ?? DEFAULT_URL;
  const onRetry: ClientOptions['onRetry'] = ({ message }) => {
    if (!quiet)
      process.stderr.write(`${process.stderr.isTTY ? CLEAR_LINE : ''}unseen: ${oneLine(message)}\n`);
  };
  return {
    client: clientOf({ url: service, apiKey: environment.apiKey, onRetry, timeoutMs: PATIENCE_MS }),
    url: service,
    output: new Output(process.stdout),
    errors: process.stderr,
    json,
    quiet,
    interruption,
    stateFolder: environment.stateFolder,
  };
}

/**
 * Fails soon if the service is unavailable now. Later calls wait for it. With a full disk, the service isn't ready, but
 * still reads and deletes. So a read decides, which the client retries for two seconds.
 */
export async function assertAvailable({ client, url, interruption: { soft } }: Context): Promise<void> {
  try {
    await client.ready({ signal: soft });
  } catch (error) {
    if (!(error instanceof UnavailableError)) throw error;
    const failing = new AbortController();
    const { apiKey } = commandLineEnvironment();
    const reader = clientOf({ url, apiKey, onRetry: () => failing.abort() });
    const signal = AbortSignal.any([soft, failing.signal]);
    const read = reader.visitedSets({ pageSize: 1, signal }).next();
    await read.catch(() => Promise.reject(error));
  }
}

function clientOf(options: ClientOptions): UnseenClient {
  try {
    return new UnseenClient(options);
  } catch (error) {
    const reason = reasonOf(error);
    throw new UsageError(
      `${reason.startsWith('apiKey') ? 'UNSEEN_API_KEY' : 'UNSEEN_URL or --url'}: ${reason}`,
    );
  }
}
