import { useMemo, useRef } from 'preact/hooks';
import { bytes, perSecond, plural, short } from '../../format.js';
import { usePoll } from '../../poll.js';
import { RateMeter } from '../../rates.js';
import { hashOf, place, setQuery } from '../../router.js';
import { client } from '../../session.js';
import { isLost, KIND_NAMES, type Entry } from '../../sets.js';
import { Button, ButtonLink } from '../../ui/button.js';
import { DataTable, sortedBy } from '../../ui/data-table.js';
import { Choice } from '../../ui/field.js';
import { Empty, Pending } from '../../ui/notice.js';
import { Pages } from '../../ui/pages.js';
import { Title } from '../../ui/title.js';
import { columns } from './columns.js';
import { loadAll } from './load-all.js';

const PAGE = 100;

const KINDS = [
  ['', 'All'],
  ['sets', 'Visited sets'],
  ['filters', 'Filters'],
] as const;

/** Shows all sets and filters that the caller may see, with their numbers. */
export function ListScreen(): preact.JSX.Element {
  const meter = useRef(new RateMeter()).current;
  const polled = usePoll('list', async (signal) => {
    const entries = await loadAll(client.value, signal);
    meter.look(
      entries.map(({ described }) => described),
      performance.now(),
    );
    return entries;
  });
  const { data } = polled;
  return (
    <>
      <div class="head">
        <Title text="Sets and filters" />
        {data && <Summary entries={data} meter={meter} />}
        <ButtonLink href={hashOf(['new'])} needs="admin">
          New …
        </ButtonLink>
      </div>
      <Pending of={polled} what="sets and filters" rows={6} />
      {data && data.length === 0 && <Nothing />}
      {data && data.length > 0 && <List entries={data} meter={meter} />}
    </>
  );
}

function Summary({
  entries,
  meter,
}: {
  readonly entries: readonly Entry[];
  readonly meter: RateMeter;
}): preact.JSX.Element {
  const sets = entries.filter(({ kind }) => kind === 'sets').length;
  const filters = entries.length - sets;
  const memory = entries.reduce((sum, { described }) => sum + described.memoryBytes, 0);
  const rates = entries.flatMap(({ described }) => meter.of(described.name) ?? []);
  const fresh = rates.reduce((sum, rate) => sum + rate.fresh, 0);
  return (
    <p class="summary">
      {plural(sets, KIND_NAMES.sets)}, {plural(filters, KIND_NAMES.filters)} · {bytes(memory)}
      {rates.length > 0 && ` · ${perSecond(fresh)} new per second`}
    </p>
  );
}

function Nothing(): preact.JSX.Element {
  return (
    <Empty title="Nothing here yet">
      <p>
        A visited set records which URLs a crawler has seen, and queues new ones. A filter records any
        strings.
      </p>
      <ButtonLink href={hashOf(['new'])} needs="admin">
        Create the first one
      </ButtonLink>
    </Empty>
  );
}

function List({
  entries,
  meter,
}: {
  readonly entries: readonly Entry[];
  readonly meter: RateMeter;
}): preact.JSX.Element {
  const { query } = place.value;
  const search = (query.get('q') ?? '').trim().toLowerCase();
  const kind = KINDS.find(([name]) => name === query.get('kind'))?.[0] ?? '';
  const sort = query.get('sort') ?? 'name';
  const all = useMemo(() => columns(meter), [meter]);
  const found = useMemo(() => {
    const matching = entries.filter(
      (entry) => (kind === '' || entry.kind === kind) && entry.described.name.toLowerCase().includes(search),
    );
    return sortedBy(matching, all, sort);
  }, [entries, all, search, kind, sort]);
  const last = Math.max(0, Math.ceil(found.length / PAGE) - 1);
  const page = Math.min(last, Math.max(0, (Number(query.get('page')) || 1) - 1));
  return (
    <>
      <div class="tools" role="search">
        <input
          type="search"
          placeholder="Search by name"
          aria-label="Search by name"
          value={query.get('q') ?? ''}
          onInput={(event) => setQuery({ q: event.currentTarget.value, page: '' })}
        />
        <Choice
          legend="Kind"
          hidden
          value={kind}
          options={KINDS}
          onChange={(value) => setQuery({ kind: value, page: '' })}
        />
        <label class="sort-by">
          Sort by{' '}
          <select
            value={sort.replace('-', '')}
            onChange={(event) => setQuery({ sort: event.currentTarget.value, page: '' })}
          >
            {all
              .filter(({ sorted }) => sorted)
              .map(({ id, title, numeric = false }) => (
                <option key={id} value={numeric ? `-${id}` : id} selected={sort.replace('-', '') === id}>
                  {title}
                </option>
              ))}
          </select>
        </label>
        <span class="found" role="status">
          {found.length < entries.length && `${short(found.length)} of ${short(entries.length)}`}
        </span>
      </div>
      {found.length === 0 ? (
        <Empty title="No matches">
          <Button onClick={() => setQuery({ q: '', kind: '', page: '' })}>Show all</Button>
        </Empty>
      ) : (
        <div class="list">
          <DataTable
            caption="Visited sets and filters"
            columns={all}
            rows={found.slice(page * PAGE, (page + 1) * PAGE)}
            keyOf={({ described }) => described.name}
            sort={sort}
            onSort={(value) => setQuery({ sort: value === 'name' ? '' : value, page: '' })}
          />
        </div>
      )}
      <Pages
        page={page}
        size={PAGE}
        total={found.length}
        onPage={(to) => {
          setQuery({ page: to === 0 ? '' : String(to + 1) });
          scrollTo(0, 0);
        }}
      />
      {entries.some(({ described }) => isLost(described)) && (
        <p class="hint">
          If the store has lost a set’s data, the service refuses calls on it until you clear or delete it.
        </p>
      )}
    </>
  );
}
