import type { Host, PerHost } from '#client';
import { useState } from 'preact/hooks';
import { plural, time } from '../../../format.js';
import { usePoll } from '../../../poll.js';
import { client } from '../../../session.js';
import { DataTable } from '../../../ui/data-table.js';
import { Failure, Loading, Notice } from '../../../ui/notice.js';
import { columns } from './columns.js';
import { DropHostDialog } from './drop-host-dialog.js';
import { HostDialog } from './host-dialog.js';

const SHOWN = 100;

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
    async (signal) => {
      const read: Host[] = [];
      for await (const host of client.value.visitedSet(name).hosts.list({ pageSize: SHOWN, signal })) {
        read.push(host);
        if (read.length === SHOWN) break;
      }
      return read;
    },
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
      {!hosts.data && hosts.error && (
        <Failure error={hosts.error} what="The hosts could not be loaded" retry={hosts.refresh} />
      )}
      {!hosts.data && !hosts.error && <Loading what="hosts" rows={2} />}
      {hosts.data && shown.length === 0 && <p class="hint">No host has URLs in the queue.</p>}
      {shown.length > 0 && (
        <div class="scroll tall" tabIndex={0} role="region" aria-label="Table of the hosts">
          <DataTable
            caption="Hosts"
            columns={columns({
              counts: perHost.maxUrls !== undefined,
              change: setChanging,
              drop: setDropping,
            })}
            rows={shown}
            keyOf={({ host }) => host}
          />
        </div>
      )}
      {shown.length === SHOWN && <p class="hint">Showing {SHOWN}, in no particular order.</p>}
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
        <DropHostDialog
          name={name}
          of={dropping}
          onClose={close}
          onDone={(count) => finish(`${plural(count, 'URL')} of ${dropping.host} dropped.`)}
        />
      )}
    </section>
  );
}
