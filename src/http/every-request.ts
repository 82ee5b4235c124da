import type { RequestListener, Server } from 'node:http';

/** Has `listener` see every request, whatever it expects (the Expect header), before those who answer it. */
export function onEveryRequest(server: Server, listener: RequestListener): void {
  for (const event of ['request', 'checkContinue', 'checkExpectation'] as const) server.on(event, listener);
}
