import type { Subject, Verb } from './history.js';

/**
 * An item's new `count` after a call, and the call's answer, which is one word for each occurrence, joined by commas.
 */
export interface Effect {
  readonly count: number;
  readonly answer: string;
}

/** One of a filter's items as a sequential object. Its state is how many times the filter contains it. */
export type ItemModel = (count: number, verb: Verb, times: number) => Effect;

/** In a `set`, a second add changes nothing, and one removal forgets the item. */
const setItem: ItemModel = (count, verb, times) =>
  repeatedly(count, times, (n) => {
    if (verb === 'add') return { count: 1, answer: String(n === 0) };
    if (verb === 'remove') return { count: 0, answer: n > 0 ? 'removed' : 'absent' };
    return { count: n, answer: verb === 'check' ? String(n > 0) : String(n) };
  });

/** In a `multiset`, every add counts one, and every removal takes one back. No count reaches 15 in these tests. */
const multisetItem: ItemModel = (count, verb, times) =>
  repeatedly(count, times, (n) => {
    if (verb === 'add') return { count: n + 1, answer: String(n === 0) };
    if (verb === 'remove') return { count: Math.max(0, n - 1), answer: n > 0 ? 'removed' : 'absent' };
    return { count: n, answer: verb === 'check' ? String(n > 0) : String(n) };
  });

export const ITEM_MODELS: Readonly<Record<Subject, ItemModel>> = { set: setItem, multiset: multisetItem };

function repeatedly(count: number, times: number, once: (count: number) => Effect): Effect {
  const answers: string[] = [];
  let now = count;
  for (let i = 0; i < times; i++) {
    const effect = once(now);
    now = effect.count;
    answers.push(effect.answer);
  }
  return { count: now, answer: answers.join() };
}
