import { signal } from '@preact/signals';
import { hashOf, placeOf } from './place.js';

export { hashOf } from './place.js';

/** The current place of the user. */
export const place = signal(placeOf(location.hash));

addEventListener('hashchange', () => {
  place.value = placeOf(location.hash);
});

/** Goes to a place, as a link would. Takes a result from hashOf. */
export function goTo(hash: string): void {
  location.hash = hash;
}

/**
 * Changes the current place's query without adding to the history, because a search would add an entry for each letter.
 */
export function setQuery(changes: Readonly<Record<string, string>>): void {
  const { path, query } = place.peek();
  const hash = hashOf(path, { ...Object.fromEntries(query), ...changes });
  history.replaceState(history.state, '', hash);
  place.value = placeOf(hash);
}
