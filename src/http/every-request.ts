import type { RequestListener, Server } from 'node:http';

/** Calls `listener` for every request, with any Expect header, before the listeners that answer it. */
export function onEveryRequest(server: Server, listener: RequestListener): void {
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, listener);
}
