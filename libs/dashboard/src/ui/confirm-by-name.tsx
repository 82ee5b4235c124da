import { randomKey } from '#client';
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Button } from './button.js';
import { Dialog } from './dialog.js';
import { Field } from './field.js';
import { Failure } from './notice.js';

/** Asks for the name of what is about to be lost. */
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
  /** What is pressed again, since no answer came, has the same key: it is not done twice. */
  readonly act: (idempotencyKey: string) => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}): preact.JSX.Element {
  const key = useMemo(randomKey, []);
  const [typed, setTyped] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (typed !== name) return;
    setWorking(true);
    setError(undefined);
    try {
      await act(key);
    } catch (thrown) {
      setError(thrown as Error);
      setWorking(false);
    }
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={(event) => void submit(event)}>
        <p>{children}</p>
        <Field label={`Type “${name}” to go on`}>
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
          <Failure error={error} what="That did not work" unsure="Nobody knows yet whether that was done" />
        )}
        <div class="actions">
          <Button onClick={onClose}>Keep it</Button>
          <Button type="submit" look="danger" disabled={working || typed !== name}>
            {verb}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
