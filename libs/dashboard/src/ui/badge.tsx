import { conditionsOf, type Described } from '../sets.js';

/** A state as a word and a colour. */
export function Badge({ tone, text }: { readonly tone: string; readonly text: string }): preact.JSX.Element {
  return <span class={`badge ${tone}`}>{text}</span>;
}

export function Conditions({ described }: { readonly described: Described }): preact.JSX.Element | null {
  const conditions = conditionsOf(described);
  if (conditions.length === 0) return null;
  return (
    <span class="badges">
      {conditions.map(({ is, tone, text }) => (
        <Badge key={is} tone={tone} text={text} />
      ))}
    </span>
  );
}
