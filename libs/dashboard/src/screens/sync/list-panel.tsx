import type { Sync, SyncDescription } from '#client';
import { useState } from 'preact/hooks';
import { bytes, plural, whole } from '../../format.js';
import { filesOf, ListInput, NOTHING, type Given } from '../../lines/list-input.js';
import { may } from '../../session.js';
import { Bar } from '../../ui/bar.js';
import { Button } from '../../ui/button.js';
import { Failure, Notice } from '../../ui/notice.js';
import type { Subject } from '../set/set-screen.js';
import { syncOf } from './looks.js';
import type { Sending, Sent } from './sending.js';

/** The list of what is live: given, sent, and how far it has come. What has come of one stays when the sync is over. */
export function ListPanel({
  subject,
  sync: { id, state },
  sending,
  send,
  stop,
  refresh,
}: {
  readonly subject: Subject;
  readonly sync: SyncDescription;
  readonly sending: Sending;
  readonly send: (sync: Sync<string>, given: Given) => Promise<void>;
  readonly stop: () => void;
  readonly refresh: () => void;
}): preact.JSX.Element | null {
  const [given, setGiven] = useState<Given>(NOTHING);
  const isRunning = sending.is === 'running';
  const takes = state === 'open' && !isRunning;
  if (!takes && sending.is === 'idle') return null;
  const start = async (): Promise<void> => {
    await send(syncOf(subject, id), given);
    refresh();
  };
  return (
    <section class="panel" aria-labelledby="live">
      <h2 id="live">What is live</h2>
      {takes && (
        <ListInput
          label={subject.kind === 'sets' ? 'URLs, a line each' : 'Items, a line each'}
          given={given}
          onChange={setGiven}
        />
      )}
      <div aria-live="polite">
        <Progress sending={sending} />
      </div>
      <div class="actions">
        {takes && (
          <Button
            look="primary"
            needs="write"
            disabled={may('write') && filesOf(given).length === 0}
            onClick={() => void start()}
          >
            List it
          </Button>
        )}
        {isRunning && <Button onClick={stop}>Stop</Button>}
      </div>
    </section>
  );
}

function Progress({ sending }: { readonly sending: Sending }): preact.JSX.Element | null {
  if (sending.is === 'idle') return null;
  const { sent, is } = sending;
  return (
    <div class="progress">
      {is === 'running' && (
        <>
          <Bar value={sent.bytes} most={sent.ofBytes} tone="info" label="What was read of the list" />
          <p>
            {bytes(sent.bytes)} of {bytes(sent.ofBytes)} read, {plural(sent.lines, 'line')} answered
          </p>
        </>
      )}
      {is === 'done' && (
        <Notice tone={sent.lines === 0 ? 'warn' : 'good'}>
          {sent.lines === 0
            ? 'There were no lines in it.'
            : `All of it was sent: ${plural(sent.lines, 'line')}.`}
        </Notice>
      )}
      {is === 'stopped' && (
        <Notice tone="warn">
          Stopped after {plural(sent.lines, 'line')}. They stay listed: do not commit before the rest is, too.
        </Notice>
      )}
      {is === 'failed' && (
        <Failure
          error={sending.error}
          what={`The list was not sent whole: ${plural(sent.lines, 'line was', 'lines were')} answered.`}
        />
      )}
      <Counts sent={sent} />
    </div>
  );
}

const WORDS: readonly (readonly [word: string, meaning: string])[] = [
  ['kept', 'there before, and kept'],
  ['new', 'not there before, and added'],
  ['forgotten', 'forgotten since the sync was opened, and not kept'],
  ['invalid', 'no URLs, and left out'],
];

function Counts({ sent: { counts, invalid } }: { readonly sent: Sent }): preact.JSX.Element {
  return (
    <>
      <ul class="counts">
        {WORDS.filter(([word]) => (counts[word] ?? 0) > 0).map(([word, meaning]) => (
          <li key={word}>
            <b>{whole(counts[word] ?? 0)}</b> {meaning}
          </li>
        ))}
      </ul>
      {invalid.length > 0 && (
        <details>
          <summary>Lines that are no URLs</summary>
          <ul>
            {invalid.map(({ line, reason }, i) => (
              <li key={i}>
                <code>{line.slice(0, 200)}</code> <small>{reason}</small>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
