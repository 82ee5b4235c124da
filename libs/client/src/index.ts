/** A client of the Unseen service: for Node.js 20.19 and later, and for browsers. */
export type * from './api-types.js';
export type {
  Filter as FilterDescription,
  Sync as SyncDescription,
  VisitedSet as VisitedSetDescription,
} from './api-types.js';
export {
  sizeOf,
  type Answers,
  type AnsweredBlock,
  type CallOptions,
  type ChangeOptions,
  type ListOptions,
  type Verb,
} from './batches.js';
export { UnseenClient, type ClientOptions } from './client.js';
export * from './errors.js';
export { MOST_ENTRIES, MOST_SIZE } from './joined-calls.js';
export { Filter } from './filter.js';
export type { HistoryOptions } from './handle.js';
export { Sync, Syncs } from './syncs.js';
export {
  VisitedSet,
  type ExtendOptions,
  type MarkOptions,
  type PageOptions,
  type ReleaseOptions,
  type UrlWithPayload,
} from './visited-set.js';
export { Worker, type Handler, type Task, type Work, type WorkerOptions } from './worker.js';
