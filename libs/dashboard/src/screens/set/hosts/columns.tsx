import type { Host } from '#client';
import { due, time, whole } from '../../../format.js';
import { may } from '../../../session.js';
import { Badge } from '../../../ui/badge.js';
import { Button } from '../../../ui/button.js';
import type { Column } from '../../../ui/data-table.js';

const NUMBERS = [
  ['waiting', 'Waiting'],
  ['leased', 'Leased'],
  ['delayed', 'Delayed'],
  ['scheduled', 'Scheduled'],
  ['dead', 'Dead'],
] as const;

export function columns({
  counts,
  change,
  drop,
}: {
  /** True if the set counts each host's URLs. */
  readonly counts: boolean;
  readonly change: (host: Host) => void;
  readonly drop: (host: Host) => void;
}): readonly Column<Host>[] {
  return [
    {
      id: 'host',
      title: 'Host',
      cell: (host) => (
        <>
          <b>{host.host}</b> <Own of={host} />
        </>
      ),
    },
    ...NUMBERS.map(([id, title]) => ({
      ...{ id, title, numeric: true },
      cell: (host: Host) => whole(host[id]),
    })),
    ...(counts
      ? [{ id: 'discovered', title: 'Found', numeric: true, cell: ({ found = 0 }: Host) => whole(found) }]
      : []),
    { id: 'next', title: 'Next due', cell: ({ nextAt }) => due(nextAt) },
    {
      id: 'blocked',
      title: 'Blocked until',
      cell: ({ blockedUntil }) => time(blockedUntil),
    },
    {
      id: 'acts',
      title: 'Actions',
      cell: (host) =>
        may('write') && (
          <span class="actions">
            <Button label={`Change ${host.host}`} onClick={() => change(host)}>
              Change …
            </Button>
            <Button look="danger" label={`Drop ${host.host}`} onClick={() => drop(host)}>
              Drop …
            </Button>
          </span>
        ),
    },
  ];
}

/** Shows that a host has limits of its own. */
function Own({ of: { delaySeconds, maxLeased, maxUrls } }: { readonly of: Host }): preact.JSX.Element {
  const has = [delaySeconds, maxLeased, maxUrls].some((limit) => limit !== undefined);
  return <>{has && <Badge tone="info" text="own limits" />}</>;
}
