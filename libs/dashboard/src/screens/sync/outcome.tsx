import type { SyncDescription } from '#client';
import { plural } from '../../format.js';
import { Button } from '../../ui/button.js';
import { Notice } from '../../ui/notice.js';

/** How a sync ended, whether this page or another caller ended it. */
export function Outcome({
  sync: { state, reason, listed, new: fresh, wouldForget },
  another,
}: {
  readonly sync: SyncDescription;
  readonly another: () => void;
}): preact.JSX.Element {
  return (
    <div class="outcome" role="status">
      {state === 'committed' ? (
        <Notice tone="good">
          <p>
            <strong>Committed.</strong> {plural(wouldForget, 'item')} forgotten. Of {plural(listed, 'line')}{' '}
            listed, {plural(fresh, 'was', 'were')} new.
          </p>
        </Notice>
      ) : (
        <Notice tone="warn">
          <p>
            <strong>The sync has ended:</strong> {reason ?? 'reason unknown'}. Nothing was forgotten, and no
            listed line was added.
          </p>
        </Notice>
      )}
      <Button onClick={another}>Another sync</Button>
    </div>
  );
}
