import { ConfigError } from './config/config.js';
import { StoreOpenError } from './store/store-open-error.js';

const SYSTEM: Readonly<Record<string, string>> = {
  EADDRINUSE:
    'another program is listening on this address; change HOST, PORT or RESP_PORT, or stop that program',
  EADDRNOTAVAIL: 'this machine does not have this address; change HOST',
  EACCES: 'permission denied for this user; use a PORT of 1024 or above, or change the owner of DATA_DIR',
  ENOTFOUND: 'this host name is unknown; change HOST',
};

/** Why the service can't start, for the operator: one line for an expected error, a stack for a bug. */
export function startFailure(error: unknown): string {
  if (error instanceof ConfigError || error instanceof StoreOpenError) return error.message;
  if (!(error instanceof Error)) return String(error);
  const hint = 'code' in error && typeof error.code === 'string' ? SYSTEM[error.code] : undefined;
  if (hint !== undefined) return `${error.message}: ${hint}`;
  return error.stack ?? error.message;
}
