import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { serverProgram } from './redis-server.js';

const path = (name: string) => join('test', 'data', 'tls', name);
const read = (name: string) => readFileSync(path(name), 'utf8');

/** The files for the settings: the trusted CA, the certificate and key to present, and a CA that has signed nothing. */
export const TLS_FILES = {
  ca: path('ca.pem'),
  cert: path('client.pem'),
  key: path('client.key'),
  otherCa: path('other-ca.pem'),
};

/** The files' contents, as the store's options take them. */
export const TLS_TEXTS = { ca: read('ca.pem'), cert: read('client.pem'), key: read('client.key') };

/** Arguments for a server that accepts TLS on `port` and plain connections on its own port. */
export function tlsArgs(port: number, clients: 'yes' | 'no' = 'yes'): string[] {
  return [
    ...['--tls-port', String(port), '--tls-auth-clients', clients],
    ...['--tls-ca-cert-file', path('ca.pem')],
    ...['--tls-cert-file', path('server.pem'), '--tls-key-file', path('server.key')],
  ].map((word) => (word.startsWith('test') ? join(process.cwd(), word) : word));
}

/** Whether the server was built with TLS. A server without it rejects the setting. */
export function supportsTls(): boolean {
  const { stdout, stderr } = spawnSync(serverProgram(), ['--port', '0', '--tls-port', '0'], {
    encoding: 'utf8',
    timeout: 10_000,
  });
  return !/FATAL CONFIG/i.test(stdout + stderr);
}
