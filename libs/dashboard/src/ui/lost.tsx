import { hashOf, place } from '../router.js';
import { KIND_NAMES, type Subject } from '../sets.js';
import { Notice } from './notice.js';

/** What there is to say of a set whose data the store has lost, on whatever screen it is asked about. */
export function Lost({ kind, name }: Subject): preact.JSX.Element {
  const own = hashOf([kind, name]);
  const isOwn = hashOf(place.value.path) === own;
  return (
    <Notice tone="bad">
      <p>
        <strong>The store has lost data of this {KIND_NAMES[kind]}.</strong> Nothing is answered for it, since
        what was seen could be taken for new. Clearing it makes it empty and usable. Deleting it takes it
        away, so that an export of it can be imported.
        {!isOwn && (
          <>
            {' '}
            Both can be done where <a href={own}>{name}</a> is shown.
          </>
        )}
      </p>
    </Notice>
  );
}
