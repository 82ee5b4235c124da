/** A request as a client sent it. */
export interface SentRequest {
  readonly method: string;
  readonly path: string;
  readonly key: string | undefined;
  readonly json: unknown;
}

/** The platform's fetch, and the requests that it has sent. */
export function recordedFetch(): { readonly fetch: typeof fetch; readonly sent: SentRequest[] } {
  const sent: SentRequest[] = [];
  return {
    sent,
    fetch: (input, init) => {
      const headers = new Headers(init?.headers);
      sent.push({
        method: init?.method ?? 'GET',
        path: new URL(input).pathname,
        key: headers.get('idempotency-key') ?? undefined,
        json: typeof init?.body === 'string' ? (JSON.parse(init.body) as unknown) : undefined,
      });
      return fetch(input, init);
    },
  };
}
