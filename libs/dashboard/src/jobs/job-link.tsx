import { hashOf } from '../router.js';
import { Notice } from '../ui/notice.js';
import { currentJob } from './current-job.js';
import type { Job, Work } from './job.js';

/** Links to this tab's job from any screen. */
export function JobLink(): preact.JSX.Element | null {
  const job = currentJob.value;
  if (!job || job.isOver) return null;
  const percent = job.bytes > 0 ? Math.floor((100 * job.progress.value.bytes) / job.bytes) : 0;
  return (
    <a href={screenOf(job.work)}>
      {job.work.action.text} {job.state.value.is === 'held' ? 'waits' : `${percent} %`}
    </a>
  );
}

/** Shown in place of the form while another job is in progress. */
export function Elsewhere({ job: { work } }: { readonly job: Job }): preact.JSX.Element {
  return (
    <Notice>
      <p>
        This tab is working on <a href={screenOf(work)}>{work.subject.name}</a>. It processes one list at a
        time.
      </p>
    </Notice>
  );
}

function screenOf({ subject: { kind, name }, sync }: Work): string {
  return hashOf([kind, name, sync === undefined ? 'use' : 'sync']);
}
