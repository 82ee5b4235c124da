import { hashOf, place } from '../router.js';
import { KIND_NAMES, type Subject } from '../sets.js';
import { Notice } from './notice.js';

/** Explains on any screen that the store has lost a set's or filter's data. */
export function Lost({ kind, name }: Subject): preact.JSX.Element {
  const own = hashOf([kind, name]);
  const isOwn = hashOf(place.value.path) === own;
  return (
    <Notice tone="bad">
      <p>
        <strong>The store has lost data for this {KIND_NAMES[kind]}.</strong> The service refuses calls on it,
        because seen items could look new. To use it again, clear it, or delete it and import an export.
        {!isOwn && (
          <>
            {' '}
            You can do both on the screen of <a href={own}>{name}</a>.
          </>
        )}
      </p>
    </Notice>
  );
}
