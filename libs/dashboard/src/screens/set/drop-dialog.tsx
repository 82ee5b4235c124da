import { randomKey } from '#client';
import type { ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { plural } from '../../format.js';
import { useAct } from '../../ui/act.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { Failure } from '../../ui/notice.js';

/** Asks before URLs are dropped from the queue. */
export function DropDialog({
  what,
  count,
  drop,
  onClose,
  children,
}: {
  /** A host, or URLs chosen by the user. */
  readonly what: string;
  /** The number of URLs, or undefined while they are counted. */
  readonly count: number | undefined;
  /** Retries after a missing answer use the same key, so URLs are dropped and counted once. */
  readonly drop: (idempotencyKey: string) => Promise<void>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
}): preact.JSX.Element {
  const key = useMemo(randomKey, []);
  const { working, error, act } = useAct();
  return (
    <Dialog title={`Drop ${what}?`} onClose={onClose}>
      <p>
        {count === undefined ? (
          'Counting …'
        ) : (
          <>
            This drops <strong>{plural(count, 'URL')}</strong> from the queue.
          </>
        )}
      </p>
      {children}
      {error && (
        <Failure
          error={error}
          what={`Could not drop ${what}`}
          unsure="It is unknown whether the URLs were dropped"
        />
      )}
      <div class="actions">
        <Button onClick={onClose} disabled={working}>
          Cancel
        </Button>
        <Button look="danger" onClick={() => void act(() => drop(key))} disabled={working || !count}>
          Drop
        </Button>
      </div>
    </Dialog>
  );
}
