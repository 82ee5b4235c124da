/** A client for the Unseen service, for Node.js 20.19 and later, and for browsers. */
export type * from './api-types.js';
export type {
  Filter as FilterDescription,
  Sync as SyncDescription,
  VisitedSet as VisitedSetDescription,
} from './api-types.js';
export type { Answers, AnsweredBlock, CallOptions, ChangeOptions, ListOptions, Verb } from './batches.js';
export { UnseenClient, type ClientOptions } from './client.js';
export { BadEntry } from './entries.js';
export * from './errors.js';
export type { Retrying } from './requests.js';
export { randomKey } from './random-key.js';
export type { AgainAfter } from './again-after.js';
export { parseRetryAfter } from './retry-after.js';
export { RetryAfterError, type RetryAfter, type RetryAfterOptions } from './retry-after-error.js';
export type { Checkpoint } from './checkpoints.js';
export { resumeList, type ResumeListOptions } from './resume-list.js';
export { sendList } from './send-list.js';
export type { ListVerb, SendListOptions, SentBlock } from './send-list-options.js';
export { Filter, type AddOptions } from './filter.js';
export type { HistoryOptions } from './handle.js';
export { Hosts } from './hosts.js';
export type { PageOptions } from './pages.js';
export { PathError } from './path.js';
export { Sync, Syncs } from './syncs.js';
export {
  VisitedSet,
  type AckOptions,
  type DiscoverOptions,
  type ExtendOptions,
  type Priority,
  type QueuedUrlsOptions,
  type VisitOptions,
  type ReleaseOptions,
  type UrlWithPayload,
} from './visited-set.js';
export { Worker } from './worker.js';
export type { Handler, Task, Work, WorkerOptions } from './worker-options.js';
export { MOST_ENTRIES } from './joined-calls.js';
