import type { SyncDescription } from '#client';
import { useEffect, useRef } from 'preact/hooks';
import { currentJob, putAway } from '../../jobs/current-job.js';
import { isLost, type Whole, type Subject } from '../../sets.js';
import { Crumbs } from '../../ui/crumbs.js';
import { Lost } from '../../ui/lost.js';
import { isGone, Missing } from '../../ui/missing.js';
import { Empty, isUnsure, Notice } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { SyncPanel } from '../set/sync-panel.js';
import { CommitPanel } from './commit-panel.js';
import { ListPanel } from './list-panel.js';
import { useLooks, type Looks } from './looks.js';
import { OpenForm } from './open-form.js';
import { Outcome } from './outcome.js';

/** Keeps the URLs in an input list and forgets all others, in the steps of the service's sync. */
export function SyncScreen(subject: Subject): preact.JSX.Element {
  const { kind, name } = subject;
  const looks = useLooks(subject);
  return (
    <>
      <Crumbs kind={kind} name={name} />
      <div class="head">
        <Title text={`Sync ${name}`} />
      </div>
      <Body subject={subject} looks={looks} />
    </>
  );
}

function Body({ subject, looks }: { readonly subject: Subject; readonly looks: Looks }): preact.JSX.Element {
  const { data, error } = looks;
  if (!data || isGone(error)) return <Missing subject={subject} polled={looks} rows={3} />;
  const { described, sync } = data;
  if (isLost(described)) return <Lost {...subject} />;
  if (described.semantics === 'multiset')
    return (
      <Empty title="A multiset cannot be synced">
        <p>It counts how many times each item was added, and a list does not say that.</p>
      </Empty>
    );
  return <Steps subject={subject} described={described} sync={sync} looks={looks} />;
}

/** A placeholder id for a sync that this page is opening. */
const OPENING = '';

function Steps({
  subject,
  described,
  sync,
  looks,
}: {
  readonly subject: Subject;
  readonly described: Whole;
  readonly sync: SyncDescription | undefined;
  readonly looks: Looks;
}): preact.JSX.Element {
  /** The sync that this page opened. A poll may show its id before the call that opens it returns. */
  const own = useRef<string | undefined>(undefined);
  if (sync && own.current === OPENING) own.current = sync.id;
  const job = currentJob.value;
  const isOfSync = sync !== undefined && job?.work.sync === sync.id;
  const isListing = isOfSync && !job.isOver;
  // Refresh the counts when listing starts or ends.
  useEffect(looks.refresh, [isListing]);
  if (!sync)
    return (
      <OpenForm
        subject={subject}
        described={described}
        onOpening={() => (own.current = OPENING)}
        onOpen={(id) => {
          own.current = id;
          looks.refresh();
        }}
        onRefused={(error) => {
          // If no answer arrived, the sync may be open.
          if (!isUnsure(error)) own.current = undefined;
          looks.refresh();
        }}
      />
    );
  if (sync.state !== 'open' && sync.state !== 'committing')
    return (
      <>
        <Outcome
          sync={sync}
          another={() => {
            if (isOfSync) putAway();
            looks.forget();
          }}
        />
        <ListPanel subject={subject} sync={sync} />
      </>
    );
  const isOpen = sync.state === 'open';
  return (
    <>
      {isOpen && own.current !== sync.id && !isOfSync && (
        <Notice>
          This sync was already open. Listed lines stay listed. If a list was cut off, send it again from the
          beginning.
        </Notice>
      )}
      <SyncPanel sync={sync} items={described.items} />
      <ListPanel subject={subject} sync={sync} />
      {isOpen && (
        <CommitPanel
          key={sync.id}
          subject={subject}
          sync={sync}
          isListing={isListing}
          stop={() => isListing && job.stop()}
          refresh={looks.refresh}
        />
      )}
    </>
  );
}
