import type { Host, PerHost } from '#client';
import { useState } from 'preact/hooks';
import { plural, time } from '../../../format.js';
import { usePoll } from '../../../poll.js';
import { client } from '../../../session.js';
import { entriesIn } from '../../../sets.js';
import { FirstRows, firstOf } from '../../../ui/first-rows.js';
import { Notice, Pending } from '../../../ui/notice.js';
import { DropDialog } from '../drop-dialog.js';
import { columns } from './columns.js';
import { HostDialog } from './host-dialog.js';

/** The hosts of a set with `perHost`. */
export function HostsPanel({
  name,
  perHost,
  refresh,
}: {
  readonly name: string;
  readonly perHost: PerHost;
  readonly refresh: () => void;
}): preact.JSX.Element {
  const hosts = usePoll<Host[]>(
    `hosts of ${name}`,
    (signal) => firstOf((page) => client.value.visitedSet(name).hosts.list({ ...page, signal })),
    15_000,
  );
  const [changing, setChanging] = useState<Host>();
  const [dropping, setDropping] = useState<Host>();
  // Shown here, because a host may leave the list with its last URL.
  const [done, setDone] = useState<string>();
  const shown = hosts.data ?? [];
  const close = (): void => {
    setChanging(undefined);
    setDropping(undefined);
  };
  const finish = (text: string): void => {
    close();
    setDone(text);
    hosts.refresh();
    refresh();
  };
  return (
    <section class="panel" aria-labelledby="hosts">
      <h2 id="hosts">Hosts</h2>
      <div aria-live="polite">{done !== undefined && <Notice tone="good">{done}</Notice>}</div>
      <Pending of={hosts} what="hosts" />
      {hosts.data && shown.length === 0 && <p class="hint">No host has URLs in the queue.</p>}
      <FirstRows
        what="hosts"
        columns={columns({
          counts: perHost.maxUrls !== undefined,
          change: setChanging,
          drop: setDropping,
        })}
        rows={shown}
        keyOf={({ host }) => host}
      />
      {changing && (
        <HostDialog
          name={name}
          of={changing}
          perHost={perHost}
          onClose={close}
          onDone={({ host, blockedUntil }) =>
            finish(
              blockedUntil === undefined
                ? `${host} was changed.`
                : `${host} is blocked until ${time(blockedUntil)}.`,
            )
          }
        />
      )}
      {dropping && (
        <DropDialog
          what={dropping.host}
          count={entriesIn(dropping)}
          drop={async (idempotencyKey) => {
            const { hosts } = client.value.visitedSet(name);
            const count = await hosts.drop(dropping.host, { idempotencyKey });
            finish(`${plural(count, 'URL')} from ${dropping.host} dropped.`);
          }}
          onClose={close}
        >
          <p>They stay visited, so workers do not fetch them again.</p>
        </DropDialog>
      )}
    </section>
  );
}
