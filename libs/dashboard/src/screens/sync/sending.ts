import type { Sync } from '#client';
import { useRef, useState } from 'preact/hooks';
import { LEFT } from '../../connection.js';
import { useAskBeforeUnload, useLeaving } from '../../leaving.js';
import { plainLinesOf } from '../../lines/lines.js';
import { filesOf, sizeOf, type Given } from '../../lines/list-input.js';

/** How far a list has come. */
export interface Sent {
  readonly bytes: number;
  readonly ofBytes: number;
  readonly lines: number;
  /** By what they were answered. */
  readonly counts: Readonly<Record<string, number>>;
  /** The first that are no URLs, and why. */
  readonly invalid: readonly Invalid[];
}

interface Invalid {
  readonly line: string;
  readonly reason: string;
}

export type Sending =
  | { readonly is: 'idle' }
  | { readonly is: 'running' | 'done' | 'stopped'; readonly sent: Sent }
  | { readonly is: 'failed'; readonly sent: Sent; readonly error: Error };

const MOST_INVALID = 20;
const NONE: Sent = { bytes: 0, ofBytes: 0, lines: 0, counts: {}, invalid: [] };

/** Sends a list to a sync, until it is through, it is stopped, or the screen is left. */
export function useSending(): {
  readonly sending: Sending;
  readonly send: (sync: Sync<string>, given: Given) => Promise<void>;
  readonly stop: () => void;
  /** Of a sync that is over. */
  readonly reset: () => void;
} {
  const [sending, setSending] = useState<Sending>({ is: 'idle' });
  const leaving = useLeaving();
  const stopping = useRef(new AbortController());
  useAskBeforeUnload(sending.is === 'running');
  const send = async (sync: Sync<string>, given: Given): Promise<void> => {
    stopping.current = new AbortController();
    const signal = AbortSignal.any([leaving, stopping.current.signal]);
    let sent: Sent = { ...NONE, ofBytes: sizeOf(given) };
    let bytes = 0;
    setSending({ is: 'running', sent });
    try {
      const { format } = given;
      const lines = plainLinesOf(filesOf(given), { format, onRead: (more) => (bytes += more) });
      for await (const { entries, results, invalid } of sync.keep(lines, { signal }).blocks()) {
        const counts = { ...sent.counts };
        for (const result of results) counts[result] = (counts[result] ?? 0) + 1;
        const reasons = [...invalid].map(([i, reason]) => ({ line: entries[i] ?? '', reason }));
        sent = {
          ...sent,
          bytes,
          lines: sent.lines + entries.length,
          counts,
          invalid: [...sent.invalid, ...reasons].slice(0, MOST_INVALID),
        };
        setSending({ is: 'running', sent });
      }
      setSending({ is: 'done', sent: { ...sent, bytes } });
    } catch (error) {
      if (stopping.current.signal.aborted) setSending({ is: 'stopped', sent });
      else if (!leaving.aborted) setSending({ is: 'failed', sent, error: error as Error });
    }
  };
  const stop = (): void => stopping.current.abort(LEFT);
  return { sending, send, stop, reset: () => setSending({ is: 'idle' }) };
}
