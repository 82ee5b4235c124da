import type { Reply } from '../request/request.js';

/** Answers a creation: 201 with the location, or 200 if the same filter or set already exists. */
export function answerCreated<T extends { name: string }>(
  reply: Reply,
  collection: string,
  { view, created }: { view: T; created: boolean },
): T {
  void reply.code(created ? 201 : 200).header('location', `${collection}/${view.name}`);
  return view;
}
