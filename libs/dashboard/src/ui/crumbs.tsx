import type { ComponentChildren } from 'preact';
import { hashOf } from '../router.js';
import type { Subject } from '../sets.js';

/** Links back to the list and to the screen's set or filter. */
export function Crumbs({
  kind,
  name,
  children,
}: Partial<Subject> & { readonly children?: ComponentChildren }): preact.JSX.Element {
  return (
    <p class="crumbs">
      <a href={hashOf([])}>Sets and filters</a>
      {kind !== undefined && name !== undefined && (
        <>
          {' / '}
          <a href={hashOf([kind, name])}>{name}</a>
        </>
      )}
      {children}
    </p>
  );
}
