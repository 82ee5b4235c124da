import { DataLostError } from '#client';
import { currentJob } from '../../jobs/current-job.js';
import type { Work } from '../../jobs/job.js';
import { Elsewhere } from '../../jobs/job-link.js';
import { JobView } from '../../jobs/job-view.js';
import { usePoll } from '../../poll.js';
import { hashOf } from '../../router.js';
import { client, may } from '../../session.js';
import { handleOf, isLost, KIND_NAMES, type Subject } from '../../sets.js';
import { Lost } from '../../ui/lost.js';
import { Failure, Loading } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { actionsOf } from './actions.js';
import { UseForm } from './use-form.js';

const DESCRIBED_EVERY_MS = 30_000;

/** Asks about many URLs or items of a set, adds and forgets them. */
export function UseScreen({ kind, name }: Subject): preact.JSX.Element {
  return (
    <>
      <p class="crumbs">
        <a href={hashOf([])}>Sets and filters</a> / <a href={hashOf([kind, name])}>{name}</a>
      </p>
      <div class="head">
        <Title text={`${kind === 'sets' ? 'URLs' : 'Items'} of ${name}`} />
      </div>
      <UsePanel kind={kind} name={name} />
    </>
  );
}

/** The same without a heading, for a screen that has one. */
export function UsePanel({ kind, name }: Subject): preact.JSX.Element {
  const { data, error, refresh } = usePoll(
    `${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).describe({ signal }),
    DESCRIBED_EVERY_MS,
  );
  const job = currentJob.value;
  // What it has come to is shown whatever has become of the set.
  if (job && isAbout(job.work, { kind, name })) return <JobView job={job} />;
  if (job && !job.isOver) return <Elsewhere job={job} />;
  if (error instanceof DataLostError || (data && isLost(data))) return <Lost kind={kind} name={name} />;
  if (!data && error)
    return <Failure error={error} what={`The ${KIND_NAMES[kind]} could not be read`} retry={refresh} />;
  if (!data) return <Loading what={name} />;
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
