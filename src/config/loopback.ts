import { isIP } from 'node:net';

/** The prefix that an IPv6 socket adds to IPv4 addresses. */
const MAPPED = /^::ffff:/i;

/** True if the host name or peer address is this machine: `localhost`, `::1`, or any address in 127.0.0.0/8. */
export function isLoopback(host: string): boolean {
  const address = host.replace(MAPPED, '');
  return host === 'localhost' || host === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
