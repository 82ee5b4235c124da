import type { OpenSync } from '#client';
import { useState } from 'preact/hooks';
import { plural, share as shownShare, whole } from '../../format.js';
import { count, share } from '../../parse.js';
import { client } from '../../session.js';
import { handleOf, KIND_NAMES, type Whole, type Subject } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Field, useFaults } from '../../ui/field.js';
import { Failure } from '../../ui/notice.js';

/** The first step of a sync. */
export function OpenForm({
  subject: { kind, name },
  described,
  onOpening,
  onOpen,
  onRefused,
}: {
  readonly subject: Subject;
  readonly described: Whole;
  readonly onOpening: () => void;
  readonly onOpen: (id: string) => void;
  readonly onRefused: (error: Error) => void;
}): preact.JSX.Element {
  const [capacity, setCapacity] = useState('');
  const [errorRate, setErrorRate] = useState('');
  const [working, setWorking] = useState(false);
  const [error, setError] = useState<Error>();
  const [form, showFaults] = useFaults();
  const entries = kind === 'sets' ? 'URLs' : 'items';
  const asked: OpenSync = {
    ...(capacity.trim() !== '' && { capacity: count(capacity) }),
    ...(errorRate.trim() !== '' && { errorRate: share(errorRate) }),
  };
  const faults = {
    capacity: Number.isNaN(asked.capacity) ? 'Enter a whole number, such as 1,000,000 or 1M' : undefined,
    errorRate: Number.isNaN(asked.errorRate) ? 'Enter a share, such as 0.01 % or 1 in 10,000' : undefined,
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    if (faults.capacity !== undefined || faults.errorRate !== undefined) {
      showFaults();
      return;
    }
    setWorking(true);
    setError(undefined);
    onOpening();
    try {
      const { id } = await handleOf(client.value, kind, name).syncs.open(asked);
      onOpen(id);
    } catch (thrown) {
      setError(thrown as Error);
      setWorking(false);
      onRefused(thrown as Error);
    }
  };
  return (
    <form ref={form} class="panel narrow" onSubmit={(event) => void submit(event)}>
      <h2>Keep the {entries} in a list, and forget all others</h2>
      <p>
        Open a sync, send it the list of live {entries}, preview the commit, and commit. Until then nothing is
        forgotten, and you can abandon the sync. It also keeps{' '}
        {kind === 'sets'
          ? 'URLs that are visited during the sync, and queued URLs'
          : 'items that are added during the sync'}
        . The {KIND_NAMES[kind]} has {plural(described.items, 'item')} now.
      </p>
      <div class="pair">
        <Field
          label="New capacity"
          hint={`Empty: unchanged, ${whole(described.capacity)}`}
          error={faults.capacity}
        >
          {(props) => (
            <input {...props} value={capacity} onInput={(event) => setCapacity(event.currentTarget.value)} />
          )}
        </Field>
        <Field
          label="New error rate"
          hint={`Empty: unchanged, ${shownShare(described.errorRate)}`}
          error={faults.errorRate}
        >
          {(props) => (
            <input
              {...props}
              value={errorRate}
              onInput={(event) => setErrorRate(event.currentTarget.value)}
            />
          )}
        </Field>
      </div>
      <p class="hint">An open sync takes about as much extra memory as a set of that capacity.</p>
      {error && <Failure error={error} what="The sync was not opened" unsure="Opening status unknown" />}
      <div class="actions">
        <Button type="submit" look="primary" needs="admin" disabled={working}>
          {working ? 'Opening …' : 'Open a sync'}
        </Button>
      </div>
    </form>
  );
}
