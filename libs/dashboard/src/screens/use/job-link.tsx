import { hashOf } from '../../router.js';
import { currentJob } from './current-job.js';

/** Leads to what this tab works on, from wherever somebody is. */
export function JobLink(): preact.JSX.Element | null {
  const job = currentJob.value;
  if (!job || job.isOver) return null;
  const { kind, name, action } = job.work;
  const percent = job.bytes > 0 ? Math.floor((100 * job.progress.value.bytes) / job.bytes) : 0;
  return (
    <a href={hashOf([kind, name, 'use'])}>
      {action.text} {job.state.value.is === 'held' ? 'waits' : `${percent} %`}
    </a>
  );
}
