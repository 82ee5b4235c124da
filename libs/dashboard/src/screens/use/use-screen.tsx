import { usePoll } from '../../poll.js';
import { hashOf } from '../../router.js';
import { client, may } from '../../session.js';
import { handleOf, isLost, KIND_NAMES, type Kind } from '../../sets.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { actionsOf } from './actions.js';
import { currentJob } from './current-job.js';
import { JobView } from './job-view.js';
import { UseForm } from './use-form.js';

const DESCRIBED_EVERY_MS = 30_000;

/** Asks about many URLs or items of a set, adds and forgets them. */
export function UseScreen({
  kind,
  name,
}: {
  readonly kind: Kind;
  readonly name: string;
}): preact.JSX.Element {
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
export function UsePanel({ kind, name }: { readonly kind: Kind; readonly name: string }): preact.JSX.Element {
  const { data, error, refresh } = usePoll(
    `${kind}/${name}`,
    (signal) => handleOf(client.value, kind, name).describe({ signal }),
    DESCRIBED_EVERY_MS,
  );
  const job = currentJob.value;
  if (job && (job.work.kind !== kind || job.work.name !== name) && !job.isOver)
    return <Elsewhere kind={job.work.kind} name={job.work.name} />;
  // What it has come to is shown whatever has become of the set.
  if (job && job.work.kind === kind && job.work.name === name) return <JobView job={job} />;
  if (!data && error)
    return <Failure error={error} what={`The ${KIND_NAMES[kind]} could not be read.`} retry={refresh} />;
  if (!data) return <Loading what={name} />;
  if (isLost(data))
    return <Notice tone="bad">Its data is lost: nothing is answered until it is cleared or deleted.</Notice>;
  return (
    <UseForm
      kind={kind}
      name={name}
      errorRate={Math.max(data.errorRate, data.estimatedErrorRate)}
      actions={actionsOf(kind, data.type === 'counting', may)}
    />
  );
}

function Elsewhere({ kind, name }: { readonly kind: Kind; readonly name: string }): preact.JSX.Element {
  return (
    <Notice>
      <p>
        This tab works on <a href={hashOf([kind, name, 'use'])}>{name}</a> at the moment: one list at a time.
      </p>
    </Notice>
  );
}
