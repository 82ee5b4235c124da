import { useState } from 'preact/hooks';
import { useLeaving } from '../../leaving.js';
import { goTo, hashOf } from '../../router.js';
import { client } from '../../session.js';
import { handleOf, KIND_NAMES, type Subject } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { ConfirmByName } from '../../ui/confirm-by-name.js';
import { WhatIsLost } from './what-is-lost.js';

interface ActionsProps extends Subject {
  /** If the data is lost, users can only clear or delete. */
  readonly isLost: boolean;
  readonly refresh: () => void;
}

/** The actions on a whole set or filter. Each is a button that opens a dialog. */
export function Actions({ kind, name, isLost, refresh }: ActionsProps): preact.JSX.Element {
  const [asking, setAsking] = useState<'clear' | 'drop'>();
  const leaving = useLeaving();
  const handle = handleOf(client.value, kind, name);
  const close = (): void => setAsking(undefined);
  return (
    <div class="actions">
      {!isLost && (
        <>
          <a class="button plain" href={hashOf([kind, name, 'use'])}>
            {kind === 'sets' ? 'URLs' : 'Items'} …
          </a>
          <a class="button plain" href={hashOf([kind, name, 'sync'])}>
            Sync …
          </a>
          <a class="button plain" href={hashOf([kind, name, 'export'])}>
            Export …
          </a>
        </>
      )}
      <Button needs="admin" onClick={() => setAsking('clear')}>
        Clear …
      </Button>
      <Button needs="admin" look="danger" onClick={() => setAsking('drop')}>
        Delete …
      </Button>
      {asking === 'clear' && (
        <ConfirmByName
          title={`Clear ${name}?`}
          name={name}
          verb="Clear"
          onClose={close}
          act={async (idempotencyKey) => {
            await handle.clear({ idempotencyKey });
            close();
            refresh();
          }}
        >
          <WhatIsLost kind={kind} name={name} /> The {KIND_NAMES[kind]} itself stays, empty.
        </ConfirmByName>
      )}
      {asking === 'drop' && (
        <ConfirmByName
          title={`Delete ${name}?`}
          name={name}
          verb="Delete"
          onClose={close}
          act={async (idempotencyKey) => {
            await handle.drop({ idempotencyKey });
            // If the user has left the screen in the meantime, don't navigate away.
            if (!leaving.aborted) goTo(hashOf([]));
          }}
        >
          <WhatIsLost kind={kind} name={name} />
        </ConfirmByName>
      )}
    </div>
  );
}
