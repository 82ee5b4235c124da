import { AccessError } from '#client';
import { away } from '../connection.js';
import { bytes, plural, whole } from '../format.js';
import { Bar } from '../ui/bar.js';
import { Button } from '../ui/button.js';
import { Failure, Notice } from '../ui/notice.js';
import { putAway } from './current-job.js';
import { saveAs } from '../save.js';
import { INVALID, type Action } from './action.js';
import type { Job, JobState } from './job.js';
import { InvalidRows, ResultRows } from './rows.js';

/** A job's progress and results. */
export function JobView({
  job,
  takesMore = true,
}: {
  readonly job: Job;
  /** True if the user can start another input list. */
  readonly takesMore?: boolean;
}): preact.JSX.Element {
  const { subject, action } = job.work;
  const { kind, name } = subject;
  const now = job.progress.value;
  const state = job.state.value;
  const unit = kind === 'sets' ? 'URL' : 'item';
  return (
    <section class="panel job" aria-label={action.text}>
      <h2>{action.text}</h2>
      <Bar value={now.bytes} most={job.bytes} label="Part of the list that was read" />
      <p class="summary">
        {plural(now.lines, 'line')} · {bytes(now.bytes)} of {bytes(job.bytes)}
      </p>
      <dl class="tally">
        {[...now.counts].map(([word, count]) => (
          <div key={word} class={word === INVALID ? 'bad' : undefined}>
            <dt>{action.meanings?.[word] ?? word}</dt>
            <dd>{whole(count)}</dd>
          </div>
        ))}
      </dl>
      <div role="status">
        <State state={state} lines={now.lines} action={action} />
      </div>
      <div class="actions">
        {state.is === 'running' && <Button onClick={() => job.stop()}>Stop</Button>}
        {state.is === 'held' && (
          <>
            <Button look="primary" onClick={() => job.goOn()}>
              Continue
            </Button>
            <Button onClick={() => job.stop()}>Stop here</Button>
          </>
        )}
        {(job.isOver || state.is === 'held') && now.lines > 0 && (
          <Button onClick={() => saveAs(`${name}-${action.id}.tsv`, job.result())}>
            Download the result
          </Button>
        )}
        {job.isOver && takesMore && <Button onClick={putAway}>Another list</Button>}
      </div>
      {now.invalid.length > 0 && (
        <InvalidRows rows={now.invalid} of={now.counts.get(INVALID) ?? 0} unit={unit} />
      )}
      <ResultRows rows={now.first} of={now.lines} kind={kind} name={name} />
    </section>
  );
}

function State({
  state,
  lines,
  action,
}: {
  readonly state: JobState;
  readonly lines: number;
  readonly action: Action;
}): preact.JSX.Element | null {
  const after = plural(lines, 'line');
  if (state.is === 'running') {
    const isAway = away.value !== undefined && away.value !== 'back';
    return isAway ? (
      <Notice tone="warn">Waiting for the service. It continues automatically after {after}.</Notice>
    ) : null;
  }
  if (state.is === 'stopping') return <Notice>Stopping. Waiting for calls in progress.</Notice>;
  if (state.is === 'done')
    return lines === 0 ? (
      <Notice tone="warn">The list has no lines.</Notice>
    ) : (
      <Notice tone="good">Done: {after}.</Notice>
    );
  if (state.is === 'failed')
    return (
      <Failure
        error={state.error}
        what={
          lines === 0
            ? 'No lines were processed'
            : `It failed after ${after}, which ${lines === 1 ? 'was' : 'were'} processed`
        }
      />
    );
  if (state.is === 'stopped')
    return (
      <Notice tone="warn">
        <p>
          Stopped after {after}.{' '}
          {action.afterStop ?? (action.needs !== 'read' && 'Changes made so far remain.')}{' '}
          {state.unknown > 0 && `The outcome of the next ${plural(state.unknown, 'line')} is unknown.`}
        </p>
      </Notice>
    );
  const isOfKey = state.error instanceof AccessError && state.error.status === 401;
  return isOfKey ? (
    <Notice tone="warn">
      <p>
        Your key expired or was revoked after {after}. Later lines were not processed. Continue with your new
        key; no line is applied twice.
      </p>
    </Notice>
  ) : (
    <Failure error={state.error} what={`Paused after ${after}`} />
  );
}
