import { currentJob } from '../../jobs/current-job.js';
import type { Work } from '../../jobs/job.js';
import { Elsewhere } from '../../jobs/job-link.js';
import { JobView } from '../../jobs/job-view.js';
import { usePoll } from '../../poll.js';
import { client, may } from '../../session.js';
import { handleOf, isLost, type Subject } from '../../sets.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Lost } from '../../ui/lost.js';
import { isGone, Missing } from '../../ui/missing.js';
import { Title } from '../../ui/title.js';
import { actionsOf } from './actions.js';
import { UseForm } from './use-form.js';

const DESCRIBED_EVERY_MS = 30_000;

/** Checks, adds, and forgets many of a set's URLs or items. */
export function UseScreen({ kind, name }: Subject): preact.JSX.Element {
  return (
    <>
      <Crumbs kind={kind} name={name} />
      <div class="head">
        <Title text={`${kind === 'sets' ? 'URLs' : 'Items'} of ${name}`} />
      </div>
      <UsePanel kind={kind} name={name} />
    </>
  );
}

function UsePanel({ kind, name }: Subject): preact.JSX.Element {
  const polled = usePoll(
    `${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).describe({ signal }),
    DESCRIBED_EVERY_MS,
  );
  const job = currentJob.value;
  // The results stay visible even if the set is gone.
  if (job && isAbout(job.work, { kind, name })) return <JobView job={job} />;
  if (job && !job.isOver) return <Elsewhere job={job} />;
  const { data, error } = polled;
  if (!data || isGone(error)) return <Missing subject={{ kind, name }} polled={polled} rows={3} />;
  if (isLost(data)) return <Lost kind={kind} name={name} />;
  return (
    <UseForm
      kind={kind}
      name={name}
      errorRate={Math.max(data.errorRate, data.estimatedErrorRate)}
      actions={actionsOf(kind, data.type === 'counting', may)}
    />
  );
}

function isAbout({ subject, sync }: Work, { kind, name }: Subject): boolean {
  return sync === undefined && subject.kind === kind && subject.name === name;
}
