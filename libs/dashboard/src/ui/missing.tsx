import { DataLostError, NotFoundError } from '#client';
import type { Polled } from '../poll.js';
import { hashOf } from '../router.js';
import { KIND_NAMES, type Subject } from '../sets.js';
import { Lost } from './lost.js';
import { Empty, Failure, Loading } from './notice.js';

/** True if the set doesn't exist or its data is lost. In that case, earlier data must not be shown. */
export function isGone(error: Error | undefined): boolean {
  return error instanceof NotFoundError || error instanceof DataLostError;
}

/** Shown for a set that is gone or not yet loaded. */
export function Missing({
  subject,
  polled: { error, refresh },
  rows,
}: {
  readonly subject: Subject;
  readonly polled: Polled<unknown>;
  /** About how many rows it will have once loaded. */
  readonly rows: number;
}): preact.JSX.Element {
  if (error instanceof NotFoundError)
    return (
      <Empty title={`This ${KIND_NAMES[subject.kind]} does not exist`}>
        <p>
          It may have been deleted. <a href={hashOf([])}>Back to sets and filters</a>
        </p>
      </Empty>
    );
  if (error instanceof DataLostError) return <Lost {...subject} />;
  if (error)
    return (
      <Failure
        error={error}
        what={`The ${KIND_NAMES[subject.kind]} ${subject.name} could not be loaded`}
        retry={refresh}
      />
    );
  return <Loading what={subject.name} rows={rows} />;
}
