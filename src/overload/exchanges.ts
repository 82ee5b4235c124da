import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Slot } from './in-flight.js';

/**
 * Releases slots when their exchanges are over: the answer is out, or never can be. A response's own `close` is not
 * enough: of requests pipelined on one connection, only the first has it when the connection breaks.
 */
export class Exchanges {
  private readonly open = new WeakMap<Socket, Set<Slot>>();

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => {
      const slots = new Set<Slot>();
      this.open.set(socket, slots);
      socket.once('close', () => {
        for (const slot of slots) slot.release();
        slots.clear();
      });
    });
  }

  begin(socket: Socket, response: ServerResponse, slot: Slot): void {
    const slots = this.open.get(socket);
    slots?.add(slot);
    response.once('close', () => {
      if (slots?.delete(slot)) slot.release();
    });
  }
}
