import { randomKey, type Host } from '#client';
import { useMemo } from 'preact/hooks';
import { plural } from '../../../format.js';
import { client } from '../../../session.js';
import { entriesIn } from '../../../sets.js';
import { useAct } from '../../../ui/act.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { Failure } from '../../../ui/notice.js';

/** Asks before the URLs of a host are dropped from the queue. */
export function DropHostDialog({
  name,
  of,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly of: Host;
  readonly onClose: () => void;
  readonly onDone: (dropped: number) => void;
}): preact.JSX.Element {
  const { host } = of;
  // Retries after a missing answer use the same key, so the URLs are counted once.
  const idempotencyKey = useMemo(randomKey, []);
  const { working, error, act } = useAct();
  const drop = async (): Promise<void> =>
    onDone(await client.value.visitedSet(name).hosts.drop(host, { idempotencyKey }));
  return (
    <Dialog title={`Drop ${host}?`} onClose={onClose}>
      <p>
        This drops <strong>{plural(entriesIn(of), 'URL')}</strong> of this host from the queue. They stay
        visited, so workers do not fetch them again.
      </p>
      {error && (
        <Failure
          error={error}
          what={`${host} was not dropped`}
          unsure={`It is unknown whether ${host} was dropped`}
        />
      )}
      <div class="actions">
        <Button onClick={onClose} disabled={working}>
          Keep it
        </Button>
        <Button look="danger" onClick={() => void act(drop)} disabled={working}>
          Drop
        </Button>
      </div>
    </Dialog>
  );
}
