import type { ListedKey } from '#client';
import { useState } from 'preact/hooks';
import { client } from '../../session.js';
import { useAct } from '../../ui/act.js';
import { Dialog } from '../../ui/dialog.js';
import { Check, Field } from '../../ui/field.js';
import { keepAnd } from './made-keys.js';
import { MakeActions } from './make-actions.js';

const OVERLAPS: readonly (readonly [seconds: number, text: string])[] = [
  [0, 'no time: it expires immediately'],
  [3_600, 'an hour'],
  [86_400, 'a day'],
  [604_800, 'a week'],
  [2_592_000, '30 days'],
];
const DAY = 86_400;

/** Creates a key that replaces another. The old key stays valid for a while. */
export function RotateDialog({
  of,
  isOwn,
  onClose,
  onDone,
}: {
  readonly of: ListedKey;
  readonly isOwn: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): preact.JSX.Element {
  const [seconds, setSeconds] = useState(DAY);
  const [use, setUse] = useState(isOwn);
  const { working, error, act } = useAct();
  const rotate = async (): Promise<void> => {
    const begun = Date.now();
    const made = await client.value.rotateKey(of.id, { overlapSeconds: seconds });
    const until = Math.min(begun + seconds * 1_000, Date.parse(of.expiresAt ?? '') || Infinity);
    await keepAnd(use, { made, replaces: { id: of.id, until: new Date(until).toISOString() } });
    onDone();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    void act(rotate);
  };
  return (
    <Dialog title={`Rotate ${of.name}?`} onClose={onClose}>
      <form onSubmit={submit}>
        <p>
          This creates a key with the same permissions. Replace the old key, <code>{of.id}</code>, wherever it
          is used, before it expires.
        </p>
        <Field label="The old key stays valid for">
          {(props) => (
            <select
              {...props}
              value={seconds}
              onChange={(event) => setSeconds(Number(event.currentTarget.value))}
            >
              {OVERLAPS.map(([value, text]) => (
                <option key={value} value={value} selected={value === seconds}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        {isOwn && (
          <Check
            label="Switch to the new key here"
            hint="You are signed in with the old key."
            checked={use}
            onChange={setUse}
          />
        )}
        <MakeActions verb="Rotate" working={working} error={error} onClose={onClose} />
      </form>
    </Dialog>
  );
}
