import type { OpenSync } from '#client';
import { useState } from 'preact/hooks';
import { plural, share as shownShare, whole } from '../../format.js';
import { count, share } from '../../parse.js';
import { client } from '../../session.js';
import { handleOf, type Whole, type Subject } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { Field, useFaults } from '../../ui/field.js';
import { Failure } from '../../ui/notice.js';

/** The first step. */
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
  const asked: OpenSync = {
    ...(capacity.trim() !== '' && { capacity: count(capacity) }),
    ...(errorRate.trim() !== '' && { errorRate: share(errorRate) }),
  };
  const faults = {
    capacity: Number.isNaN(asked.capacity) ? 'A whole number, such as 1,000,000 or 1M' : undefined,
    errorRate: Number.isNaN(asked.errorRate) ? 'A share, such as 0.01 % or 1 in 10,000' : undefined,
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
      <h2>Keep what is on a list, and forget the rest</h2>
      <p>
        Open a sync, give it the list of what is live, look at what a commit would forget, and commit it.
        Until then nothing is forgotten, and all of it can be given up. What is{' '}
        {kind === 'sets' ? 'visited' : 'added'} meanwhile is kept
        {kind === 'sets' && ', and so is what is queued'}. There {described.items === 1 ? 'is' : 'are'}{' '}
        {plural(described.items, 'item')} now.
      </p>
      <div class="pair">
        <Field
          label="Capacity afterwards"
          hint={`Empty: ${whole(described.capacity)}, as it is`}
          error={faults.capacity}
        >
          {(props) => (
            <input {...props} value={capacity} onInput={(event) => setCapacity(event.currentTarget.value)} />
          )}
        </Field>
        <Field
          label="Error rate afterwards"
          hint={`Empty: ${shownShare(described.errorRate)}, as it is`}
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
      <p class="hint">
        While it is open its list takes memory beside the set, about as much as a set of that capacity.
      </p>
      {error && (
        <Failure error={error} what="It was not opened" unsure="Nobody knows yet whether it was opened" />
      )}
      <div class="actions">
        <Button type="submit" look="primary" needs="admin" disabled={working}>
          {working ? 'Opening …' : 'Open a sync'}
        </Button>
      </div>
    </form>
  );
}
