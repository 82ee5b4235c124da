import type { Kind } from '../../sets.js';

export function SetScreen({ name }: { readonly kind: Kind; readonly name: string }): preact.JSX.Element {
  return <p>{name}</p>;
}
