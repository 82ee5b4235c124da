import { DataLostError, type ExplainedItem, type UnseenClient } from '#client';
import { whole } from '../../format.js';
import { usePoll } from '../../poll.js';
import { client } from '../../session.js';
import type { Kind } from '../../sets.js';
import { Badge } from '../../ui/badge.js';
import { Lost } from '../../ui/lost.js';
import { Failure, Loading, Notice } from '../../ui/notice.js';
import { KeySteps, type Keyed } from './key-steps.js';
import { LayerPanel } from './layer-panel.js';

/** Rarely, because returning to the page also refreshes it. */
const EVERY_MS = 600_000;

/** The finding that explains the answer for an item. */
type Finding = Omit<ExplainedItem, 'item'>;

/** For a URL, also the steps to its key, or why the URL is invalid. */
type Explanation = { readonly invalid: string } | { readonly found: Finding; readonly keyed?: Keyed };

/** The answer for one item, and its reasons. */
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
  if (error instanceof DataLostError) return <Lost kind={kind} name={name} />;
  if (error && !data)
    return <Failure error={error} what="The answer could not be explained" retry={refresh} />;
  if (!data) return <Loading what="the explanation" />;
  if ('invalid' in data)
    return (
      <Notice tone="bad">
        <p>
          <strong>Not a valid URL.</strong> It has no key to look up: {data.invalid}.
        </p>
      </Notice>
    );
  return (
    <>
      <Answer found={data.found} kind={kind} />
      {data.keyed && <KeySteps keyed={data.keyed} />}
      {data.found.layers.map((layer) => (
        <LayerPanel
          key={layer.layer}
          layer={layer}
          of={data.found.layers.length}
          hidden={data.found.hidden === true}
        />
      ))}
    </>
  );
}

async function explanationOf(
  client: UnseenClient,
  { kind, name, item }: { readonly kind: Kind; readonly name: string; readonly item: string },
  signal: AbortSignal,
): Promise<Explanation> {
  if (kind === 'filters') {
    const [found] = await client.filter(name).explain([item], { signal });
    if (found) return { found };
  } else {
    const [explained] = await client.visitedSet(name).explain([item], { signal });
    const { url, invalid, key, rules, answer, hidden = false, layers } = explained ?? {};
    if (invalid !== undefined) return { invalid };
    if (url !== undefined && key !== undefined && rules && answer && layers)
      return { found: { answer, hidden, layers }, keyed: { url, key, rules } };
  }
  throw new Error('the service sent no explanation');
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
              text={`layer ${layer + 1} ${claims ? 'claims it' : 'does not claim it'}`}
            />
          ))}
        </p>
      )}
    </section>
  );
}

const HIDDEN =
  'It was forgotten, but other URLs keep all its counters above zero. The set keeps an exact list of such URLs, and reports them as “unseen”.';

function reasonFor({ answer, layers }: Finding, kind: Kind): string {
  const unit = kind === 'sets' ? 'URL' : 'item';
  if (answer === 'seen') {
    const claiming = layers.find(({ claims }) => claims);
    const where = layers.length > 1 && claiming ? `In layer ${claiming.layer + 1}, all` : 'All';
    const k = whole(claiming?.counters.length ?? 0);
    return `${where} of its ${k} counters are above zero. Either the ${unit} was added, or others raised all of them by chance.`;
  }
  const each = layers.length > 1 ? 'In each layer, at' : 'At';
  return `${each} least one of its counters is zero. The ${unit} is certainly absent.`;
}
