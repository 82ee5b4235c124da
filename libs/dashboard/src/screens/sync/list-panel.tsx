import type { SyncDescription } from '#client';
import { useState } from 'preact/hooks';
import { begin, currentJob } from '../../jobs/current-job.js';
import { Elsewhere } from '../../jobs/job-link.js';
import { JobView } from '../../jobs/job-view.js';
import { filesOf, ListInput, NOTHING } from '../../lines/list-input.js';
import { may } from '../../session.js';
import type { Subject } from '../../sets.js';
import { Button } from '../../ui/button.js';
import { listingIn } from './listing.js';

/** Takes and sends the input list, and shows its progress. The results stay visible after the sync ends. */
export function ListPanel({
  subject,
  sync: { id, state },
}: {
  readonly subject: Subject;
  readonly sync: SyncDescription;
}): preact.JSX.Element | null {
  const [given, setGiven] = useState(NOTHING);
  const isOpen = state === 'open';
  const job = currentJob.value;
  if (job?.work.sync === id) return <JobView job={job} takesMore={isOpen} />;
  if (!isOpen) return null;
  if (job && !job.isOver) return <Elsewhere job={job} />;
  const files = filesOf(given);
  const start = (event: Event): void => {
    event.preventDefault();
    begin({ subject, sync: id, action: listingIn(subject.kind, id), files, format: given.format });
    setGiven(NOTHING);
  };
  return (
    <form class="panel" aria-labelledby="live" onSubmit={start}>
      <h2 id="live">Live entries</h2>
      <ListInput
        label={subject.kind === 'sets' ? 'URLs, one per line' : 'Items, one per line'}
        given={given}
        onChange={setGiven}
      />
      <div class="actions">
        <Button type="submit" look="primary" needs="write" disabled={may('write') && files.length === 0}>
          Send the list
        </Button>
      </div>
    </form>
  );
}
