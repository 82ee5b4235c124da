import { effect, signal } from '@preact/signals';
import { session } from '../session.js';
import { Job, type Work } from './job.js';

/** The one of this tab. It goes on while another screen is shown, and waits while somebody has to sign in. */
export const currentJob = signal<Job | undefined>(undefined);

/** Begins a list, unless another one is under way. */
export function begin(work: Work): void {
  if (currentJob.peek()?.isOver !== false) currentJob.value = new Job(work);
}

/** Puts away one that is over. */
export function putAway(): void {
  if (currentJob.peek()?.isOver === true) currentJob.value = undefined;
}

// What somebody works on is not for who comes after.
effect(() => {
  const now = session.value;
  if (now.is !== 'signed out' || now.why !== 'left') return;
  currentJob.peek()?.leave();
  currentJob.value = undefined;
});

addEventListener('beforeunload', (event) => {
  if (currentJob.peek()?.isOver === false) event.preventDefault();
});
