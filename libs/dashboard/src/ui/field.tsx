import type { ComponentChildren, RefObject } from 'preact';
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';

interface FieldProps {
  readonly label: string;
  readonly hint?: ComponentChildren;
  readonly error?: string | undefined;
  readonly children: (props: {
    id: string;
    'aria-describedby': string | undefined;
    'aria-invalid': boolean | undefined;
  }) => ComponentChildren;
}

/** A labelled control with a hint or an error. */
export function Field({ label, hint, error, children }: FieldProps): preact.JSX.Element {
  const id = useId();
  const said = error ?? hint;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children({
        id,
        'aria-describedby': said === undefined ? undefined : `${id}-said`,
        'aria-invalid': error === undefined ? undefined : true,
      })}
      {said !== undefined && (
        <p id={`${id}-said`} class={error === undefined ? 'hint' : 'fault'}>
          {said}
        </p>
      )}
    </div>
  );
}

/** A ref for the form, and a function that focuses the first faulty field after all faults are marked. */
export function useFaults(): readonly [RefObject<HTMLFormElement | null>, () => void] {
  const form = useRef<HTMLFormElement>(null);
  const [times, setTimes] = useState(0);
  useLayoutEffect(() => form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus(), [times]);
  return [form, () => setTimes((before) => before + 1)];
}

/** A choice between a few values. */
export function Choice<Value extends string>({
  legend,
  value,
  options,
  onChange,
  hidden = false,
}: {
  readonly legend: string;
  readonly value: Value;
  readonly options: readonly (readonly [value: Value, text: string])[];
  readonly onChange: (value: Value) => void;
  /** Shows the legend to screen readers only. */
  readonly hidden?: boolean;
}): preact.JSX.Element {
  const name = useId();
  return (
    <fieldset class="choice">
      <legend class={hidden ? 'unseen' : undefined}>{legend}</legend>
      <div class="segments">
        {options.map(([option, text]) => (
          <label key={option}>
            <input
              type="radio"
              name={name}
              value={option}
              checked={option === value}
              onChange={() => onChange(option)}
            />
            <span>{text}</span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

export function Check({
  label,
  checked,
  onChange,
  hint,
}: {
  readonly label: string;
  readonly checked: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly hint?: string;
}): preact.JSX.Element {
  const id = useId();
  return (
    <div class="check">
      <input
        id={id}
        type="checkbox"
        checked={checked}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <span>
        <label for={id}>{label}</label>
        {hint !== undefined && (
          <small id={`${id}-hint`} class="hint">
            {hint}
          </small>
        )}
      </span>
    </div>
  );
}
