import type { Host, HostSettings, PerHost } from '#client';
import { useState } from 'preact/hooks';
import { count } from '../../../parse.js';
import { client } from '../../../session.js';
import { useAct } from '../../../ui/act.js';
import { Button } from '../../../ui/button.js';
import { Dialog } from '../../../ui/dialog.js';
import { Field, useFaults } from '../../../ui/field.js';
import { Failure } from '../../../ui/notice.js';
import { HOST_LIMITS, type HostLimit } from '../../create/form.js';

/** The contents of the form, as typed. */
type Form = Readonly<Record<HostLimit | 'blockedUntil', string>>;

/** Changes a host's limits, and blocks it. */
export function HostDialog({
  name,
  of,
  perHost,
  onClose,
  onDone,
}: {
  readonly name: string;
  readonly of: Host;
  readonly perHost: PerHost;
  readonly onClose: () => void;
  readonly onDone: (changed: Host) => void;
}): preact.JSX.Element {
  const [form, setForm] = useState<Form>(() => formOf(of));
  const [tried, setTried] = useState(false);
  const [formRef, showFaults] = useFaults();
  const { working, error, act } = useAct();
  // Only sets with this limit count URLs.
  const limits = HOST_LIMITS.filter(([limit]) => limit !== 'maxUrls' || perHost.maxUrls !== undefined);
  const faults = tried ? faultsOf(form) : {};
  const save = async (): Promise<void> =>
    onDone(await client.value.visitedSet(name).hosts.set(of.host, settingsOf(form)));
  const submit = (event: Event): void => {
    event.preventDefault();
    setTried(true);
    if (Object.keys(faultsOf(form)).length === 0) void act(save);
    else showFaults();
  };
  return (
    <Dialog title={`Change ${of.host}`} onClose={onClose}>
      <form ref={formRef} onSubmit={submit} noValidate>
        <Field label="Blocked until" hint="Empty: not blocked" error={faults.blockedUntil}>
          {(props) => (
            <input
              {...props}
              type="datetime-local"
              value={form.blockedUntil}
              onInput={(event) => setForm({ ...form, blockedUntil: event.currentTarget.value })}
            />
          )}
        </Field>
        {limits.map(([limit, label, hint]) => (
          <Field key={limit} label={label} hint={`${hint}. Empty: as in the set`} error={faults[limit]}>
            {(props) => (
              <input
                {...props}
                inputMode="numeric"
                placeholder={String(perHost[limit] ?? 'no limit')}
                value={form[limit]}
                onInput={(event) => setForm({ ...form, [limit]: event.currentTarget.value })}
              />
            )}
          </Field>
        ))}
        {error && (
          <Failure
            error={error}
            what={`${of.host} was not changed`}
            unsure={`It is unknown whether ${of.host} was changed`}
          />
        )}
        <div class="actions">
          <Button onClick={onClose} disabled={working}>
            Cancel
          </Button>
          <Button type="submit" look="primary" disabled={working}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

function formOf({ delaySeconds, maxLeased, maxUrls, blockedUntil }: Host): Form {
  return {
    delaySeconds: String(delaySeconds ?? ''),
    maxLeased: String(maxLeased ?? ''),
    maxUrls: String(maxUrls ?? ''),
    blockedUntil: blockedUntil === undefined ? '' : localTime(blockedUntil),
  };
}

/** The value of a datetime field: local time without a time zone. */
function localTime(iso: string): string {
  const date = new Date(iso);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Faults that the page can find itself. The service finds all other faults. */
function faultsOf(form: Form): Partial<Form> {
  const faults: { -readonly [K in keyof Form]?: string } = {};
  for (const [limit] of HOST_LIMITS) {
    const least = limit === 'delaySeconds' ? 0 : 1;
    if (form[limit].trim() !== '' && !(count(form[limit]) >= least))
      faults[limit] = 'Enter a whole number, or leave the field empty';
  }
  if (form.blockedUntil !== '' && !(Date.parse(form.blockedUntil) > Date.now()))
    faults.blockedUntil = 'Enter a time in the future';
  return faults;
}

/** The settings to save. Call it only if the form has no faults. */
function settingsOf({ blockedUntil, ...limits }: Form): HostSettings {
  const given = Object.entries(limits).filter(([, text]) => text.trim() !== '');
  return {
    ...Object.fromEntries(given.map(([limit, text]) => [limit, count(text)])),
    ...(blockedUntil !== '' && { blockedUntil: new Date(blockedUntil).toISOString() }),
  };
}
