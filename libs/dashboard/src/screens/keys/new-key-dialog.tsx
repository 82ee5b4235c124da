import { useState } from 'preact/hooks';
import { client, signOut } from '../../session.js';
import { useAct } from '../../ui/act.js';
import { Dialog } from '../../ui/dialog.js';
import { Check, Choice, Field, useFaults } from '../../ui/field.js';
import { Notice } from '../../ui/notice.js';
import { keepAnd } from './made-keys.js';
import { MakeActions } from './make-actions.js';
import { EMPTY_KEY, faultsOfKey, keyOf, type KeyForm } from './new-key.js';

const SCOPES = [
  ['read', 'Read'],
  ['write', 'Write'],
  ['admin', 'Admin'],
] as const;

const MEANINGS = {
  read: 'Check, count, describe and list.',
  write: 'Read, add, remove, and work on queues.',
  admin: 'Do everything, and create, clear and delete sets. Without a prefix, also manage keys.',
} as const;

const ENDS = [
  ['', 'never'],
  ['30', 'in 30 days'],
  ['90', 'in 90 days'],
  ['365', 'in a year'],
  ['at', 'at a set time …'],
] as const;

/** Creates a key. Once a first key exists, the service refuses callers without a key, including this page. */
export function NewKeyDialog({
  isFirst,
  onClose,
  onDone,
}: {
  readonly isFirst: boolean;
  readonly onClose: () => void;
  readonly onDone: () => void;
}): preact.JSX.Element {
  const [form, setForm] = useState<KeyForm>({ ...EMPTY_KEY, scope: isFirst ? 'admin' : 'read' });
  const [use, setUse] = useState(isFirst);
  const [tried, setTried] = useState(false);
  const [formRef, showFaults] = useFaults();
  const { working, error, act } = useAct();
  const faults = tried ? faultsOfKey(form) : {};
  const change = (changes: Partial<KeyForm>): void => setForm((old) => ({ ...old, ...changes }));
  const make = async (): Promise<void> => {
    await keepAnd(use, { made: await client.value.createKey(keyOf(form)) });
    // From now on the service rejects calls without a key, unless it is open to everyone.
    if (isFirst && !use) await client.value.me().catch(() => signOut('now needed'));
    onDone();
  };
  const submit = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(faultsOfKey(form)).length === 0) void act(make);
    else showFaults();
  };
  return (
    <Dialog title={isFirst ? 'The first key' : 'A new key'} onClose={onClose}>
      <form ref={formRef} onSubmit={submit} noValidate>
        {isFirst && (
          <Notice tone="warn">
            From then on, the service requires a key. To create more keys here, you need one with the scope
            “admin” for all names.
          </Notice>
        )}
        <KeyFields form={form} faults={faults} change={change} />
        {isFirst && <Check label="Sign in here with the new key" checked={use} onChange={setUse} />}
        <MakeActions verb="Create key" working={working} error={error} onClose={onClose} />
      </form>
    </Dialog>
  );
}

function KeyFields({
  form,
  faults,
  change,
}: {
  readonly form: KeyForm;
  readonly faults: ReturnType<typeof faultsOfKey>;
  readonly change: (changes: Partial<KeyForm>) => void;
}): preact.JSX.Element {
  return (
    <>
      <Field label="Name" hint="A label for people, such as its user" error={faults.name}>
        {(props) => (
          <input
            {...props}
            autocomplete="off"
            maxLength={64}
            value={form.name}
            onInput={(event) => change({ name: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class="field">
        <Choice legend="Scope" value={form.scope} options={SCOPES} onChange={(scope) => change({ scope })} />
        <p class="hint">{MEANINGS[form.scope]}</p>
      </div>
      <Field
        label="Prefix"
        hint="The key sees only names that begin with it. Empty: all names"
        error={faults.prefix}
      >
        {(props) => (
          <input
            {...props}
            autocomplete="off"
            spellcheck={false}
            placeholder="acme-"
            maxLength={32}
            value={form.prefix}
            onInput={(event) => change({ prefix: event.currentTarget.value.trim() })}
          />
        )}
      </Field>
      {form.prefix !== '' && <Bounds form={form} faults={faults} change={change} />}
      <div class="pair">
        <Field label="Expires">
          {(props) => (
            <select
              {...props}
              value={form.ends}
              onChange={(event) => change({ ends: event.currentTarget.value })}
            >
              {ENDS.map(([value, text]) => (
                <option key={value} value={value} selected={value === form.ends}>
                  {text}
                </option>
              ))}
            </select>
          )}
        </Field>
        {form.ends === 'at' && (
          <Field label="Time" error={faults.endsAt}>
            {(props) => (
              <input
                {...props}
                type="datetime-local"
                value={form.endsAt}
                onInput={(event) => change({ endsAt: event.currentTarget.value })}
              />
            )}
          </Field>
        )}
      </div>
    </>
  );
}

function Bounds({
  form,
  faults,
  change,
}: {
  readonly form: KeyForm;
  readonly faults: ReturnType<typeof faultsOfKey>;
  readonly change: (changes: Partial<KeyForm>) => void;
}): preact.JSX.Element {
  return (
    <div class="pair">
      <Field
        label="Maximum sets"
        hint="Under this prefix, including those that other keys create. Empty: no limit"
        error={faults.maxFilters}
      >
        {(props) => (
          <input
            {...props}
            inputMode="numeric"
            value={form.maxFilters}
            onInput={(event) => change({ maxFilters: event.currentTarget.value })}
          />
        )}
      </Field>
      <Field label="Maximum memory" hint="Across all sets. Empty: no limit" error={faults.maxBytes}>
        {(props) => (
          <input
            {...props}
            placeholder="500 MB"
            value={form.maxBytes}
            onInput={(event) => change({ maxBytes: event.currentTarget.value })}
          />
        )}
      </Field>
    </div>
  );
}
