import { isIP } from 'node:net';

/** IPv4 addresses, as a socket of IPv6 shows them. */
const MAPPED = /^::ffff:/i;

/** Whether a host, or an address of a peer, is this machine: `localhost`, `::1`, or any of 127.0.0.0/8. */
export function isLoopback(host: string): boolean {
  const address = host.replace(MAPPED, '');
  return host === 'localhost' || host === '::1' || (isIP(address) === 4 && address.startsWith('127.'));
}
