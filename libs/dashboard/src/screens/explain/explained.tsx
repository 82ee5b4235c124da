import type { ExplainedItem, ExplainedUrl, Finding, UnseenClient } from '#client';
import { whole } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client } from '../../session.js';
import type { Kind } from '../../sets.js';
import { Badge } from '../../ui/badge.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { KeySteps } from './key-steps.js';
import { LayerPanel } from './layer-panel.js';

/** It is asked anew when somebody comes back to the page. */
const EVERY_MS = 600_000;

type Explanation = ExplainedItem | ExplainedUrl;

/** The answer for one item, and what it comes from. */
export function Explained({
  kind,
  name,
  item,
}: {
  readonly kind: Kind;
  readonly name: string;
  readonly item: string;
}): preact.JSX.Element | null {
  const { data, error, refresh } = usePoll(
    item,
    (signal) => explanationOf(client.value, { kind, name, item }, signal),
    EVERY_MS,
  );
  if (error && !data) return <Failure error={error} what="It could not be explained." retry={refresh} />;
  if (!data) return <Loading what="the explanation" />;
  if ('invalid' in data)
    return (
      <Notice tone="bad">
        <p>
          <strong>No valid URL.</strong> It has no key, so there is nothing to look for: {data.invalid}.
        </p>
      </Notice>
    );
  return (
    <>
      <Answer found={data} kind={kind} />
      {'key' in data && <KeySteps explained={data} />}
      {data.layers.map((layer) => (
        <LayerPanel key={layer.layer} layer={layer} of={data.layers.length} />
      ))}
    </>
  );
}

async function explanationOf(
  client: UnseenClient,
  { kind, name, item }: { readonly kind: Kind; readonly name: string; readonly item: string },
  signal: AbortSignal,
): Promise<Explanation> {
  const [explained] =
    kind === 'sets'
      ? await client.visitedSet(name).explain([item], { signal })
      : await client.filter(name).explain([item], { signal });
  if (!explained) throw new Error('the service has explained nothing');
  return explained;
}

function Answer({ found, kind }: { readonly found: Finding; readonly kind: Kind }): preact.JSX.Element {
  const { answer, hidden, layers } = found;
  return (
    <section class={`panel answer ${answer === 'seen' ? 'yes' : 'no'}`} aria-label="The answer" role="status">
      <p class="verdict">{answer}</p>
      <p>{hidden ? HIDDEN : reasonFor(found, kind)}</p>
      {layers.length > 1 && (
        <p class="badges">
          {layers.map(({ layer, claims }) => (
            <Badge
              key={layer}
              tone={claims ? 'info' : ''}
              text={`layer ${layer} ${claims ? 'claims it' : 'does not'}`}
            />
          ))}
        </p>
      )}
    </section>
  );
}

const HIDDEN =
  'It was forgotten. Others keep all its counters above zero, so it is kept on a list of those that are not to be answered as seen.';

function reasonFor({ answer, layers }: Finding, kind: Kind): string {
  const unit = kind === 'sets' ? 'URL' : 'item';
  if (answer === 'seen') {
    const claiming = layers.find(({ claims }) => claims);
    const where = layers.length > 1 && claiming ? `In layer ${claiming.layer} all` : 'All';
    const k = whole(claiming?.counters.length ?? 0);
    return `${where} of its ${k} counters are above zero. It was added, or, by chance, others have raised every one of them.`;
  }
  const each = layers.length > 1 ? 'In each layer at' : 'At';
  return `${each} least one of its counters is zero. The ${unit} is surely not there.`;
}
