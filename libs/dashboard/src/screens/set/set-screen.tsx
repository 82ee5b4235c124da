import { DataLostError, NotFoundError } from '#client';
import { useRef } from 'preact/hooks';
import { time } from '../../format.js';
import { usePoll } from '../../poll.js';
import { RateMeter } from '../../rates.js';
import { hashOf } from '../../router.js';
import { client } from '../../session.js';
import {
  DATA_LOST,
  handleOf,
  isLost,
  KIND_NAMES,
  queueOf,
  type Described,
  type Subject,
} from '../../sets.js';
import { Badge, Conditions } from '../../ui/badge.js';
import { Lost } from '../../ui/lost.js';
import { Empty, Failure, Loading } from '../../ui/notice.js';
import { Title } from '../../ui/title.js';
import { Actions } from './actions.js';
import { AgePanel } from './age-panel.js';
import { CountersPanel } from './counters-panel.js';
import { CurvePanel } from './curve-panel.js';
import { HistoryPanel } from './history-panel.js';
import { LayersPanel } from './layers-panel.js';
import { Overview } from './overview.js';
import { QueuePanel } from './queue-panel.js';
import { SettingsPanel } from './settings-panel.js';
import { SyncPanel } from './sync-panel.js';

/** All that there is to know of one visited set or filter, and what can be done with it. */
export function SetScreen(subject: Subject): preact.JSX.Element {
  const { kind, name } = subject;
  const meter = useRef(new RateMeter()).current;
  const { data, error, refresh } = usePoll<Described>(`${kind}/${name}`, async (signal) => {
    const described = await handleOf(client.value, kind, name).describe({ signal });
    meter.look([described], performance.now());
    return described;
  });
  const isGone = error instanceof DataLostError || (data !== undefined && isLost(data));
  return (
    <>
      <p class="crumbs">
        <a href={hashOf([])}>Sets and filters</a>
      </p>
      <div class="head">
        <Title text={name} />
        <span class="summary">
          {KIND_NAMES[kind]}
          {data && `, made ${time(data.createdAt)}`}
        </span>
        {isGone ? <Badge {...DATA_LOST} /> : data && <Conditions described={data} />}
        {(data !== undefined || isGone) && <Actions {...subject} isLost={isGone} refresh={refresh} />}
      </div>
      <Body subject={subject} data={data} error={error} meter={meter} refresh={refresh} />
    </>
  );
}

function Body({
  subject,
  data,
  error,
  meter,
  refresh,
}: {
  readonly subject: Subject;
  readonly data: Described | undefined;
  readonly error: Error | undefined;
  readonly meter: RateMeter;
  readonly refresh: () => void;
}): preact.JSX.Element {
  if (error instanceof NotFoundError)
    return (
      <Empty title={`There is no ${KIND_NAMES[subject.kind]} of this name`}>
        <p>
          It may have been deleted. <a href={hashOf([])}>To the sets and filters</a>
        </p>
      </Empty>
    );
  if (error instanceof DataLostError || (data && isLost(data))) return <Lost {...subject} />;
  if (!data) {
    if (error) return <Failure error={error} what="It could not be read" retry={refresh} />;
    return <Loading what={subject.name} rows={5} />;
  }
  const queue = queueOf(data);
  return (
    <>
      <Overview described={data} rates={meter.of(data.name)} />
      {data.sync && <SyncPanel sync={data.sync} items={data.items} />}
      {queue && <QueuePanel name={data.name} queue={queue} refresh={refresh} />}
      <HistoryPanel {...subject} />
      <div class="grid">
        <CurvePanel described={data} />
        <CountersPanel {...subject} />
      </div>
      <LayersPanel described={data} />
      <div class="grid">
        {'age' in data && <AgePanel age={data.age} />}
        <SettingsPanel described={data} />
      </div>
    </>
  );
}
