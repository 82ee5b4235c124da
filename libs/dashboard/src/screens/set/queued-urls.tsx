import type { QueuedUrl, QueuedUrlsOptions } from '#client';
import { useState } from 'preact/hooks';
import { due, plural, time, whole } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client } from '../../session.js';
import { Button } from '../../ui/button.js';
import { Check, Choice, Field } from '../../ui/field.js';
import { FirstRows, firstOf } from '../../ui/first-rows.js';
import { Failure, Notice, Pending } from '../../ui/notice.js';
import { DropDialog } from './drop-dialog.js';

const STATES: Readonly<Record<QueuedUrl['state'] | '', string>> = {
  '': 'All',
  waiting: 'Waiting',
  leased: 'Leased',
  delayed: 'Delayed',
  scheduled: 'Scheduled',
  dead: 'Dead',
};

type Selection = Pick<QueuedUrlsOptions, 'state' | 'host' | 'prefix'>;

interface UrlsProps {
  readonly name: string;
  readonly hasHosts: boolean;
  readonly refresh: () => void;
}

/** Shows the URLs in the queue that the user asks for, and drops them. */
export function QueuedUrls({ name, hasHosts, refresh }: UrlsProps): preact.JSX.Element {
  const [state, setState] = useState<keyof typeof STATES>('');
  const [texts, setTexts] = useState({ host: '', prefix: '' });
  const [shown, setShown] = useState<Selection>();
  const fields = [
    ...(hasHosts ? [['host', 'Host'] as const] : []),
    ['prefix', 'URLs that begin with', 'https://'] as const,
  ];
  const submit = (event: Event): void => {
    event.preventDefault();
    const given = Object.entries({ ...texts, state }).filter(([, text]) => text !== '');
    setShown(Object.fromEntries(given));
  };
  return (
    <>
      <h3>URLs in the queue</h3>
      <form class="selection" onSubmit={submit}>
        <Choice
          legend="State"
          hidden
          value={state}
          options={Object.entries(STATES) as [keyof typeof STATES, string][]}
          onChange={setState}
        />
        {fields.map(([member, label, placeholder]) => (
          <Field key={member} label={label}>
            {(props) => (
              <input
                {...props}
                {...{ placeholder, spellcheck: false, autocomplete: 'off' }}
                value={texts[member]}
                onInput={(event) => setTexts({ ...texts, [member]: event.currentTarget.value.trim() })}
              />
            )}
          </Field>
        ))}
        <Button type="submit">Show</Button>
      </form>
      {shown && <Shown key={JSON.stringify(shown)} {...{ name, refresh, selection: shown }} />}
    </>
  );
}

function Shown({
  name,
  refresh,
  selection,
}: Omit<UrlsProps, 'hasHosts'> & { readonly selection: Selection }): preact.JSX.Element {
  const urls = usePoll<QueuedUrl[]>(
    name,
    (signal) =>
      firstOf((page) => client.value.visitedSet(name).queuedUrls({ ...selection, ...page, signal })),
    15_000,
  );
  const [dropping, setDropping] = useState(false);
  const [done, setDone] = useState<string>();
  const shown = urls.data ?? [];
  return (
    <>
      <div aria-live="polite">{done !== undefined && <Notice tone="good">{done}</Notice>}</div>
      <Pending of={urls} what="URLs" />
      {urls.data && shown.length === 0 && <p class="hint">No such URLs are in the queue.</p>}
      {shown.length > 0 && (
        <>
          <FirstRows
            what="URLs"
            columns={[
              { id: 'url', title: 'URL', cell: ({ url }) => url },
              { id: 'state', title: 'State', cell: (one) => one.state },
              {
                id: 'attempt',
                title: 'Leased',
                numeric: true,
                cell: ({ attempt }) => `${whole(attempt)} ×`,
              },
              {
                id: 'queued',
                title: 'Queued',
                cell: ({ queuedAt }) => time(queuedAt),
              },
              { id: 'due', title: 'Due', cell: ({ dueAt }) => due(dueAt) },
              { id: 'reason', title: 'Reason', cell: ({ reason }) => reason ?? '–' },
            ]}
            rows={shown}
            keyOf={({ id }) => id}
          />
          <div class="actions">
            <Button needs="write" look="danger" onClick={() => setDropping(true)}>
              Drop all of these …
            </Button>
          </div>
        </>
      )}
      {dropping && (
        <DropQueued
          name={name}
          selection={selection}
          onClose={() => setDropping(false)}
          onDone={(text) => {
            setDropping(false);
            setDone(text);
            urls.refresh();
            refresh();
          }}
        />
      )}
    </>
  );
}

/** Counts a selection's URLs before it drops them. */
function DropQueued({
  name,
  selection,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly selection: Selection;
  readonly onClose: () => void;
  readonly onDone: (text: string) => void;
}): preact.JSX.Element {
  const [forget, setForget] = useState(false);
  const set = client.value.visitedSet(name);
  const asked = { ...(Object.keys(selection).length > 0 ? selection : { all: true as const }), forget };
  const counted = usePoll(name, (signal) => set.dropQueued({ ...asked, dryRun: true }, { signal }), 60_000);
  const drop = async (idempotencyKey: string): Promise<void> => {
    const { dropped, forgotten } = await set.dropQueued(asked, {
      idempotencyKey: `${idempotencyKey}.${forget}`,
    });
    const also = forgotten === undefined ? '' : ` ${whole(forgotten)} of them were forgotten.`;
    onDone(`${plural(dropped, 'URL')} dropped.${also}`);
  };
  return (
    <DropDialog what="these URLs" count={counted.data?.matched} drop={drop} onClose={onClose}>
      {!counted.data && counted.error && (
        <Failure error={counted.error} what="The URLs could not be counted" retry={counted.refresh} />
      )}
      <Check
        label="Also forget them"
        checked={forget}
        onChange={setForget}
        hint="Forgotten URLs can be discovered again; others stay visited"
      />
    </DropDialog>
  );
}
