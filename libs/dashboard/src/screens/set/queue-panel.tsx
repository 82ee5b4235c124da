import type { DeadLetter, Queue } from '#client';
import { useState } from 'preact/hooks';
import { duration, plural, short, whole } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client, may } from '../../session.js';
import { Button } from '../../ui/button.js';
import { Dialog } from '../../ui/dialog.js';
import { Figure } from '../../ui/facts.js';
import { FirstRows, firstOf } from '../../ui/first-rows.js';
import { Failure, Notice, Pending } from '../../ui/notice.js';
import { QueuedUrls } from './queued-urls.js';

/** Shows the queue's numbers, dead letters, and URLs. */
export function QueuePanel({
  name,
  queue,
  hasHosts,
  refresh,
}: {
  readonly name: string;
  readonly queue: Queue;
  readonly hasHosts: boolean;
  readonly refresh: () => void;
}): preact.JSX.Element {
  const { waiting, leased, delayed, scheduled, dead, forgotten, oldestSeconds } = queue;
  // Shown here and not in the list of dead letters, because that list disappears with its last one.
  const [done, setDone] = useState<Done>();
  return (
    <section class="panel" aria-labelledby="queue">
      <div class="head">
        <h2 id="queue">Queue</h2>
        {oldestSeconds !== undefined && (
          <span class="summary">the next URL was discovered {duration(oldestSeconds)} ago</span>
        )}
      </div>
      <dl class="tiles">
        <Figure name="Waiting" value={short(waiting)} />
        <Figure name="Leased" value={short(leased)} />
        <Figure name="Delayed" value={short(delayed)} />
        <Figure name="Scheduled" value={short(scheduled)} />
        <Figure name="Dead" value={short(dead)} tone={dead > 0 ? 'warn' : undefined} />
        {forgotten > 0 && <Figure name="Of these, forgotten" value={short(forgotten)} note="at most" />}
      </dl>
      <div aria-live="polite">
        {done &&
          (done.error ? (
            <Failure
              error={done.error}
              what={done.text}
              unsure="It is unknown whether the dead letters changed"
            />
          ) : (
            <Notice tone="good">{done.text}</Notice>
          ))}
      </div>
      {dead > 0 && <DeadLetters name={name} refresh={refresh} setDone={setDone} />}
      <QueuedUrls name={name} hasHosts={hasHosts} refresh={refresh} />
    </section>
  );
}

interface Done {
  readonly text: string;
  readonly error?: Error;
}

function DeadLetters({
  name,
  refresh,
  setDone,
}: {
  readonly name: string;
  readonly refresh: () => void;
  readonly setDone: (done: Done) => void;
}): preact.JSX.Element {
  const letters = usePoll<DeadLetter[]>(
    `dead letters of ${name}`,
    (signal) => firstOf((page) => client.value.visitedSet(name).deadLetters({ ...page, signal })),
    15_000,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [purging, setPurging] = useState(false);
  const [working, setWorking] = useState(false);
  const shown = letters.data ?? [];
  // Leaves out dead letters that another user has retried or deleted in the meantime.
  const ids = shown.map(({ id }) => id).filter((id) => chosen.has(id));
  const act = async (verb: 'putBack' | 'purge'): Promise<void> => {
    setPurging(false);
    setWorking(true);
    try {
      const set = client.value.visitedSet(name);
      const results = verb === 'putBack' ? await set.putBack(ids) : await set.purge(ids);
      const count = results.filter((result) => result !== 'unknown').length;
      setDone({
        text: `${plural(count, 'URL')} ${verb === 'putBack' ? 'put back into the queue' : 'purged'}.`,
      });
      setChosen(new Set());
    } catch (error) {
      setDone({
        text: `The dead letters were not ${verb === 'putBack' ? 'put back' : 'purged'}`,
        error: error as Error,
      });
    }
    setWorking(false);
    letters.refresh();
    refresh();
  };
  return (
    <>
      <div class="head">
        <h3>Dead letters</h3>
        <span class="actions">
          <Button
            needs="write"
            disabled={working || (may('write') && ids.length === 0)}
            onClick={() => void act('putBack')}
          >
            Put back
          </Button>
          <Button
            needs="write"
            look="danger"
            disabled={working || (may('write') && ids.length === 0)}
            onClick={() => setPurging(true)}
          >
            Purge …
          </Button>
        </span>
      </div>
      <Pending of={letters} what="dead letters" />
      {shown.length > 0 && (
        <>
          {may('write') && (
            <label class="check">
              <input
                type="checkbox"
                checked={ids.length === shown.length}
                onChange={(event) =>
                  setChosen(new Set(event.currentTarget.checked ? shown.map(({ id }) => id) : []))
                }
              />
              <span>Select all shown</span>
            </label>
          )}
          <Letters shown={shown} chosen={chosen} setChosen={setChosen} />
        </>
      )}
      {purging && (
        <Dialog title={`Purge ${plural(ids.length, 'dead letter')}?`} onClose={() => setPurging(false)}>
          <p>This deletes them from the list. Their URLs stay visited, so workers do not fetch them again.</p>
          <div class="actions">
            <Button onClick={() => setPurging(false)}>Keep them</Button>
            <Button look="danger" onClick={() => void act('purge')}>
              Purge
            </Button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Letters({
  shown,
  chosen,
  setChosen,
}: {
  readonly shown: readonly DeadLetter[];
  readonly chosen: ReadonlySet<string>;
  readonly setChosen: (chosen: ReadonlySet<string>) => void;
}): preact.JSX.Element {
  const choose = (id: string, on: boolean): void => {
    const next = new Set(chosen);
    if (on) next.add(id);
    else next.delete(id);
    setChosen(next);
  };
  return (
    <FirstRows
      what="dead letters"
      columns={[
        {
          id: 'url',
          title: 'URL',
          cell: ({ id, url }) =>
            may('write') ? (
              <label class="check">
                <input
                  type="checkbox"
                  checked={chosen.has(id)}
                  onChange={(event) => choose(id, event.currentTarget.checked)}
                />
                <span>{url}</span>
              </label>
            ) : (
              url
            ),
        },
        { id: 'reason', title: 'Reason', cell: ({ reason }) => reason },
        { id: 'attempt', title: 'Leased', numeric: true, cell: ({ attempt }) => `${whole(attempt)} ×` },
      ]}
      rows={shown}
      keyOf={({ id }) => id}
    />
  );
}
