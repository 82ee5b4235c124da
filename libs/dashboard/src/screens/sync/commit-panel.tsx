import { WouldForgetError, type CommitSync, type CommittedSync, type SyncDescription } from '#client';
import { useState } from 'preact/hooks';
import { plural, share, whole } from '../../format.js';
import { useLeaving } from '../../leaving.js';
import type { Subject } from '../../sets.js';
import { Bar } from '../../ui/bar.js';
import { Button } from '../../ui/button.js';
import { ConfirmByName } from '../../ui/confirm-by-name.js';
import { Dialog } from '../../ui/dialog.js';
import { Failure, Notice } from '../../ui/notice.js';
import { syncOf } from './looks.js';

interface Failed {
  readonly what: string;
  readonly unsure?: string;
  readonly error: Error;
}

interface PanelProps {
  readonly subject: Subject;
  readonly sync: SyncDescription;
  readonly isListing: boolean;
  readonly stop: () => void;
  readonly refresh: () => void;
}

const COMMIT = {
  what: 'The commit failed',
  unsure: 'Commit status unknown',
};
const ABANDON = {
  what: 'The sync was not abandoned',
  unsure: 'Abandonment status unknown',
};

/** Previews the effect of a commit, then commits or cancels. */
export function CommitPanel({ subject, sync, isListing, stop, refresh }: PanelProps): preact.JSX.Element {
  const { id, listed } = sync;
  const leaving = useLeaving();
  const [preview, setPreview] = useState<CommittedSync>();
  const [working, setWorking] = useState(false);
  const [failed, setFailed] = useState<Failed>();
  const [asking, setAsking] = useState<'force' | 'abandon'>();
  const handle = syncOf(subject, id);
  const close = (): void => setAsking(undefined);
  const look = async (): Promise<void> => {
    setPreview(await handle.commit({ dryRun: true }, { signal: leaving }));
    refresh();
  };
  const commit = async (asked: CommitSync): Promise<void> => {
    try {
      await handle.commit(asked, { signal: leaving });
    } catch (error) {
      // The figures have changed since the preview, so preview the commit again.
      if (error instanceof WouldForgetError) await look();
      else throw error;
    }
    refresh();
  };
  const run = async (ifNot: Omit<Failed, 'error'>, act: () => Promise<void>): Promise<void> => {
    setWorking(true);
    setFailed(undefined);
    try {
      await act();
    } catch (error) {
      if (!leaving.aborted) setFailed({ ...ifNot, error: error as Error });
      refresh();
    }
    setWorking(false);
  };
  const shown = preview?.listed === listed && !isListing ? preview : undefined;
  return (
    <section class="panel" aria-labelledby="commit">
      <h2 id="commit">Commit</h2>
      <div aria-live="polite">
        {shown && <Preview preview={shown} />}
        {!shown && (
          <p>
            {preview
              ? 'More lines were listed after this preview. Preview again.'
              : 'Nothing is forgotten until you commit.'}
          </p>
        )}
      </div>
      {failed && <Failure {...failed} />}
      <div class="actions">
        {shown && shown.refused !== true && (
          <Button
            look="primary"
            needs="admin"
            disabled={working}
            onClick={() => void run(COMMIT, () => commit({}))}
          >
            {working ? 'Committing …' : `Commit: forget ${plural(shown.wouldForget, 'item')}`}
          </Button>
        )}
        {shown?.refused === true && (
          <Button look="danger" needs="admin" disabled={working} onClick={() => setAsking('force')}>
            Force …
          </Button>
        )}
        <Button
          look={shown ? 'plain' : 'primary'}
          needs="admin"
          disabled={working || isListing}
          onClick={() => void run({ what: 'The preview failed' }, look)}
        >
          {shown ? 'Preview again' : 'Preview the commit'}
        </Button>
        <Button needs="admin" disabled={working} onClick={() => setAsking('abandon')}>
          Abandon …
        </Button>
      </div>
      {asking === 'force' && shown && (
        <ConfirmByName
          title={`Forget ${whole(shown.wouldForget)} of ${plural(shown.items, 'item')}?`}
          name={subject.name}
          verb="Commit"
          onClose={close}
          act={async () => {
            await commit({ force: true });
            close();
          }}
        >
          This is more than the guard allows. Is the list complete? Forgotten items are new again for everyone
          who uses the set, and you can’t undo this.
        </ConfirmByName>
      )}
      {asking === 'abandon' && (
        <Dialog title="Abandon this sync?" onClose={close}>
          <p>
            Nothing will be forgotten, and no listed line will be added. The next sync needs the whole list
            again{listed > 0 && `: ${plural(listed, 'line')} so far`}.
          </p>
          <div class="actions">
            <Button onClick={close}>Keep it open</Button>
            <Button
              look="danger"
              onClick={() => {
                close();
                stop();
                void run(ABANDON, async () => {
                  await handle.abandon();
                  refresh();
                });
              }}
            >
              Abandon
            </Button>
          </div>
        </Dialog>
      )}
    </section>
  );
}

function Preview({
  preview: { wouldForget, items, maxForgetShare = 1, refused = false },
}: {
  readonly preview: CommittedSync;
}): preact.JSX.Element {
  const part = items === 0 ? 0 : wouldForget / items;
  return (
    <div class="progress">
      <p>
        The commit would forget <b>{whole(wouldForget)}</b> of {plural(items, 'item')}, about {share(part)}.
        The guard allows at most {share(maxForgetShare)}.
      </p>
      <Bar
        value={wouldForget}
        most={items}
        tone={refused ? 'bad' : 'info'}
        label="Items that it would forget"
      />
      {refused && (
        <Notice tone="bad">
          <strong>The service would refuse this commit.</strong> The list may be empty or incomplete. Add the
          missing items first.
        </Notice>
      )}
    </div>
  );
}
