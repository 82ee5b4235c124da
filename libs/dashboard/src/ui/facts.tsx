import type { ComponentChildren } from 'preact';

/** A list of names and values. */
export function Facts({
  facts,
}: {
  readonly facts: readonly (readonly [name: string, value: ComponentChildren])[];
}): preact.JSX.Element {
  return (
    <dl class="facts">
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A prominent number. */
export function Figure({
  name,
  value,
  note,
  tone,
  children,
}: {
  readonly name: string;
  readonly value: ComponentChildren;
  readonly note?: ComponentChildren;
  readonly tone?: 'bad' | 'warn' | undefined;
  readonly children?: ComponentChildren;
}): preact.JSX.Element {
  return (
    <div class="tile">
      <dt>{name}</dt>
      <dd>
        <span class={`figure ${tone ?? ''}`}>{value}</span>
        {note !== undefined && <small>{note}</small>}
        {children}
      </dd>
    </div>
  );
}
