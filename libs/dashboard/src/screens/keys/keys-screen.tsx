import type { ListedKey } from '#client';
import { useMemo, useState } from 'preact/hooks';
import { usePoll } from '../../poll.js';
import { client, hasKey, may, prefix, session, signOut } from '../../session.js';
import { useAct } from '../../ui/act.js';
import { Button } from '../../ui/button.js';
import { DataTable } from '../../ui/data-table.js';
import { Dialog } from '../../ui/dialog.js';
import { Empty, Failure, Notice, Pending } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { columns } from './columns.js';
import { KeptSecrets } from './kept-secrets.js';
import { NewKeyDialog } from './new-key-dialog.js';
import { RotateDialog } from './rotate-dialog.js';

/** Lists the API keys. Needs scope admin without a prefix. */
export function KeysScreen(): preact.JSX.Element {
  if (may('admin') && prefix.value === '') return <Keys />;
  return (
    <>
      <Title text="Keys" />
      <Empty title="Your key can’t manage keys">
        <p>To manage keys, you need a key with the scope “admin” for all names.</p>
      </Empty>
    </>
  );
}

type Asking = { readonly what: 'new' } | { readonly what: 'rotate' | 'revoke'; readonly key: ListedKey };

function Keys(): preact.JSX.Element {
  const polled = usePoll('keys', (signal) => client.value.keys({ signal }));
  const { data, refresh } = polled;
  const [asking, setAsking] = useState<Asking>();
  const own = ownKey();
  const all = useMemo(
    () =>
      columns({
        own,
        rotate: (key) => setAsking({ what: 'rotate', key }),
        revoke: (key) => setAsking({ what: 'revoke', key }),
      }),
    [own],
  );
  const close = (): void => setAsking(undefined);
  const done = (): void => {
    close();
    refresh();
  };
  const isFirst = data?.length === 0;
  return (
    <>
      <div class="head">
        <Title text="Keys" />
        <Button look="primary" disabled={!data} onClick={() => setAsking({ what: 'new' })}>
          New key …
        </Button>
      </div>
      <KeptSecrets />
      <Pending of={polled} what="keys" rows={4} />
      {isFirst && <None />}
      {data && data.length > 0 && (
        <>
          {!hasKey.value && (
            <Notice tone="warn">
              This service also accepts callers without a key, because it runs with AUTH=none.
            </Notice>
          )}
          <div class="list keys">
            <DataTable caption="API keys" columns={all} rows={data} keyOf={({ id }) => id} />
          </div>
          <p class="hint">
            “Last used” comes from the instance that answered. Each instance keeps its own times, and loses
            them on restart.
          </p>
        </>
      )}
      {asking?.what === 'new' && (
        <NewKeyDialog isFirst={isFirst && !hasKey.value} onClose={close} onDone={done} />
      )}
      {asking?.what === 'rotate' && (
        <RotateDialog of={asking.key} isOwn={asking.key.id === own} onClose={close} onDone={done} />
      )}
      {asking?.what === 'revoke' && (
        <RevokeDialog of={asking.key} isOwn={asking.key.id === own} onClose={close} onDone={done} />
      )}
    </>
  );
}

function ownKey(): string | undefined {
  const { value: now } = session;
  return now.is === 'open' && now.me.id.startsWith('key:') ? now.me.id.slice(4) : undefined;
}

function None(): preact.JSX.Element {
  return (
    <Empty title="No keys yet">
      <p>
        Everyone who can reach this service has full access. Once you create the first key, the service
        requires a key permanently, unless it runs with AUTH=none.
      </p>
    </Empty>
  );
}

function RevokeDialog({
  of: { id, name },
  isOwn,
  onClose,
  onDone,
}: {
  readonly of: ListedKey;
  readonly isOwn: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): preact.JSX.Element {
  const { working, error, act } = useAct();
  const revoke = async (): Promise<void> => {
    await client.value.revokeKey(id);
    if (isOwn) signOut('ended');
    else onDone();
  };
  return (
    <Dialog title={`Revoke ${name}?`} onClose={onClose}>
      <p>
        This instance refuses the key <code>{id}</code> immediately, and other instances within two seconds.
        You can’t undo this.
      </p>
      {isOwn && (
        <Notice tone="warn">
          You are signed in with this key, so you will need another key to sign in again.
        </Notice>
      )}
      {error && (
        <Failure error={error} what={`The key ${name} was not revoked`} unsure="Revocation status unknown" />
      )}
      <div class="actions">
        <Button onClick={onClose} disabled={working}>
          Keep it
        </Button>
        <Button look="danger" disabled={working} onClick={() => void act(revoke)}>
          Revoke
        </Button>
      </div>
    </Dialog>
  );
}
