import { randomKey } from '#client';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { useAct } from './act.js';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { Field } from './field.js';
import { Failure } from './notice.js';

/** Asks the user to type the name of the set or filter that would be lost. */
export function ConfirmByName({
  title,
  name,
  verb,
  act,
  onClose,
  children,
}: {
  readonly title: string;
  readonly name: string;
  readonly verb: string;
  /** Retries after a missing answer use the same key, so the action runs at most once. */
  readonly act: (idempotencyKey: string) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): preact.JSX.Element {
  const key = useMemo(randomKey, []);
  const [typed, setTyped] = useState('');
  const { working, error, act: run } = useAct();
  const submit = (event: Event): void => {
    event.preventDefault();
    if (typed === name) void run(() => act(key));
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit}>
        <p>{children}</p>
        <Field label={`Type “${name}” to confirm`}>
          {(props) => (
            <input
              {...props}
              autocomplete="off"
              spellcheck={false}
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
            />
          )}
        </Field>
        {error && (
          <Failure
            error={error}
            what={`“${verb}” failed for ${name}`}
            unsure={`It is unknown whether “${verb}” succeeded for ${name}`}
          />
        )}
        <div class="actions">
          <Button onClick={onClose} disabled={working}>
            Keep it
          </Button>
          <Button type="submit" look="danger" disabled={working || typed !== name}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
