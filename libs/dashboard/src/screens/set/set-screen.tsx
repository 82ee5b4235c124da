import { DataLostError } from '#client';
import { useRef } from 'preact/hooks';
import { time } from '../../format.js';
import { usePoll, type Polled } from '../../poll.js';
import { RateMeter } from '../../rates.js';
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
import { Crumbs } from '../../ui/crumbs.js';
import { Lost } from '../../ui/lost.js';
import { isGone, Missing } from '../../ui/missing.js';
import { Title } from '../../ui/title.js';
import { Actions } from './actions.js';
import { AgePanel } from './age-panel.js';
import { CountersPanel } from './counters-panel.js';
import { CurvePanel } from './curve-panel.js';
import { HistoryPanel } from './history-panel.js';
import { HostsPanel } from './hosts/hosts-panel.js';
import { LayersPanel } from './layers-panel.js';
import { Overview } from './overview.js';
import { QueuePanel } from './queue-panel.js';
import { SettingsPanel } from './settings-panel.js';
import { SyncPanel } from './sync-panel.js';

/** Everything about one visited set or filter, and what users can do with it. */
export function SetScreen(subject: Subject): preact.JSX.Element {
  const { kind, name } = subject;
  const meter = useRef(new RateMeter()).current;
  const polled = usePoll<Described>(`${kind}/${name}`, async (signal) => {
    const described = await handleOf(client.value, kind, name).describe({ signal });
    meter.look([described], performance.now());
    return described;
  });
  const { data, error, refresh } = polled;
  const isDataLost = error instanceof DataLostError || (data !== undefined && isLost(data));
  return (
    <>
      <Crumbs />
      <div class="head">
        <Title text={name} />
        <span class="summary">
          {KIND_NAMES[kind]}
          {data && `, created ${time(data.createdAt)}`}
        </span>
        {isDataLost ? <Badge {...DATA_LOST} /> : data && <Conditions described={data} />}
        {(data !== undefined || isDataLost) && <Actions {...subject} isLost={isDataLost} refresh={refresh} />}
      </div>
      <Body subject={subject} polled={polled} meter={meter} />
    </>
  );
}

function Body({
  subject,
  polled,
  meter,
}: {
  readonly subject: Subject;
  readonly polled: Polled<Described>;
  readonly meter: RateMeter;
}): preact.JSX.Element {
  const { data, error, refresh } = polled;
  if (!data || isGone(error)) return <Missing subject={subject} polled={polled} rows={5} />;
  if (isLost(data)) return <Lost {...subject} />;
  const queue = queueOf(data);
  return (
    <>
      <Overview described={data} rates={meter.of(data.name)} />
      {data.sync && <SyncPanel sync={data.sync} items={data.items} />}
      {queue && <QueuePanel name={data.name} queue={queue} hasHosts={'perHost' in data} refresh={refresh} />}
      {'perHost' in data && <HostsPanel name={data.name} perHost={data.perHost} refresh={refresh} />}
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
