import { DataLostError, NotFoundError } from '#client';
import type { Polled } from '../poll.js';
import { hashOf } from '../router.js';
import { KIND_NAMES, type Subject } from '../sets.js';
import { Lost } from './lost.js';
import { Empty, Failure, Loading } from './notice.js';

/** Whether an error says that there is nothing to be shown any more, whatever was known before. */
export function isGone(error: Error | undefined): boolean {
  return error instanceof NotFoundError || error instanceof DataLostError;
}

/** In place of a set that is gone, or of which nothing has been told yet. */
export function Missing({
  subject,
  polled: { error, refresh },
  rows,
}: {
  readonly subject: Subject;
  readonly polled: Polled<unknown>;
  /** So many it has, more or less, once it is there. */
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
  if (error) return <Failure error={error} what="It could not be loaded" retry={refresh} />;
  return <Loading what={subject.name} rows={rows} />;
}
