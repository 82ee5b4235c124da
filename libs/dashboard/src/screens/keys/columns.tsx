import type { ListedKey } from '#client';
import { bytes, plural, time, whole } from '../../format.js';
import { may } from '../../session.js';
import { Badge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';

export function columns({
  own,
  rotate,
  revoke,
}: {
  /** The id of the key with which the user is signed in. */
  readonly own: string | undefined;
  readonly rotate: (key: ListedKey) => void;
  readonly revoke: (key: ListedKey) => void;
}): readonly Column<ListedKey>[] {
  return [
    {
      id: 'name',
      title: 'Name',
      cell: ({ id, name }) => (
        <>
          <b>{name}</b> {id === own && <Badge tone="info" text="yours" />}
          <small>
            <code>{id}</code>
          </small>
        </>
      ),
    },
    { id: 'scopes', title: 'Scopes', cell: ({ scopes }) => scopes.join(', ') },
    {
      id: 'prefix',
      title: 'Names',
      cell: ({ prefix }) => (prefix === undefined ? 'all' : <code>{prefix}…</code>),
    },
    { id: 'usage', title: 'Usage and limits', cell: (key) => <Usage of={key} /> },
    { id: 'made', title: 'Created', cell: ({ createdAt }) => time(createdAt) },
    { id: 'expires', title: 'Expires', cell: (key) => <End of={key} /> },
    {
      id: 'used',
      title: 'Last used',
      cell: ({ lastUsedAt }) =>
        lastUsedAt === undefined ? <span class="faint">unknown</span> : time(lastUsedAt),
    },
    {
      id: 'acts',
      title: 'Actions',
      cell: (key) =>
        may('admin') && (
          <span class="actions">
            <Button label={`Rotate ${key.name} ${key.id}`} onClick={() => rotate(key)}>
              Rotate …
            </Button>
            <Button look="danger" label={`Revoke ${key.name} ${key.id}`} onClick={() => revoke(key)}>
              Revoke …
            </Button>
          </span>
        ),
    },
  ];
}

function Usage({
  of: { prefix, usage, maxFilters, maxBytes },
}: {
  readonly of: ListedKey;
}): preact.JSX.Element {
  if (prefix === undefined) return <span class="faint">no limits</span>;
  const { filters = 0, bytes: taken = 0 } = usage ?? {};
  return (
    <>
      {maxFilters === undefined
        ? plural(filters, 'set')
        : `${whole(filters)} of ${plural(maxFilters, 'set')}`}
      <small>
        {bytes(taken)}
        {maxBytes !== undefined && ` of ${bytes(maxBytes)}`}
      </small>
    </>
  );
}

function End({ of: { expiresAt } }: { readonly of: ListedKey }): preact.JSX.Element {
  if (expiresAt === undefined) return <span class="faint">never</span>;
  return Date.parse(expiresAt) <= Date.now() ? <Badge tone="bad" text="expired" /> : <>{time(expiresAt)}</>;
}
