import { effect, signal } from '@preact/signals';
import { session } from '../session.js';
import { Job, type Work } from './job.js';

/** This tab's job. It continues while another screen is shown, and waits while the user must sign in. */
export const currentJob = signal<Job | undefined>(undefined);

/** Starts a job, unless one is in progress. */
export function begin(work: Work): void {
  if (currentJob.peek()?.isOver !== false) currentJob.value = new Job(work);
}

/** Discards a finished job. */
export function putAway(): void {
  if (currentJob.peek()?.isOver === true) currentJob.value = undefined;
}

// Drops the job when the user changes, because the next user of this tab must not see it.
effect(() => {
  const now = session.value;
  if (now.is !== 'signed out' || now.why !== 'left') return;
  currentJob.peek()?.leave();
  currentJob.value = undefined;
});

addEventListener('beforeunload', (event) => {
  if (currentJob.peek()?.isOver === false) event.preventDefault();
});
