import type { Socket } from 'node:net';
import { connectionOf } from './connection.js';

/** The connections from one address. */
interface Peer {
  count: number;
  /** Idle connections, longest idle first. */
  readonly waiting: Set<Socket>;
}

/**
 * Limits the number of connections. A connection is idle while the service does no work for it: it waits for a request,
 * for the rest of one, or for the client to read an answer. A new connection above the limit replaces the longest idle
 * one from the address with the most connections. If none is idle, the new one is closed.
 */
export class ConnectionLimit {
  private readonly peers = new Map<string, Peer>();
  private count = 0;

  constructor(readonly most: number) {}

  get openCount(): number {
    return this.count;
  }

  add(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    let peer = this.peers.get(address);
    if (!peer) this.peers.set(address, (peer = { count: 0, waiting: new Set() }));
    peer.count++;
    peer.waiting.add(socket);
    this.count++;
    const { waiting } = peer;
    connectionOf(socket).watch((busy) => {
      if (busy) waiting.delete(socket);
      else if (!socket.destroyed) waiting.add(socket);
    });
    socket.once('close', () => this.remove(socket, address));
    if (this.count > this.most) this.longestWaiting()?.destroy();
  }

  private longestWaiting(): Socket | undefined {
    let largest: Peer | undefined;
    for (const peer of this.peers.values()) {
      if (peer.waiting.size > 0 && peer.count > (largest?.count ?? 0)) largest = peer;
    }
    const [longest] = largest?.waiting ?? [];
    // The connection counts until it is closed, but can't be chosen again.
    if (longest) largest?.waiting.delete(longest);
    return longest;
  }

  private remove(socket: Socket, address: string): void {
    this.count--;
    const peer = this.peers.get(address);
    if (!peer) return;
    peer.waiting.delete(socket);
    if (--peer.count === 0) this.peers.delete(address);
  }
}
