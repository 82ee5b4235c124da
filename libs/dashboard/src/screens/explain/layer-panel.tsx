import type { LayerFinding } from '#client';
import { time, whole } from '../../format.js';
import { Badge } from '../../ui/badge.js';
import { Copyable } from '../../ui/copyable.js';

/** A counter at this value never changes again, unless the set ages. */
const SATURATED = 15;

/** An item's counters in one layer. */
export function LayerPanel({
  layer,
  of,
  hidden,
}: {
  readonly layer: LayerFinding;
  readonly of: number;
  /** The item was forgotten, and only other items keep its counters above zero. */
  readonly hidden: boolean;
}): preact.JSX.Element {
  const { segment, page, cell, claims, counters, expires, redisKey } = layer;
  const zeros = counters.filter(({ value }) => value === 0).length;
  const id = `layer-${layer.layer}`;
  return (
    <section class="panel" aria-labelledby={id}>
      <div class="head">
        <h2 id={id}>{of > 1 ? `Layer ${layer.layer + 1}` : 'Its counters'}</h2>
        <Badge
          tone={claims ? 'info' : ''}
          text={
            claims ? (hidden ? 'kept by other URLs' : 'claims it') : `${zeros} of ${counters.length} are zero`
          }
        />
      </div>
      <ol class="cells" aria-label="Counters by position in the segment">
        {counters.map(({ index, value }, i) => (
          <li key={i} class={value === 0 ? 'zero' : value === SATURATED && cell === 'u4' ? 'stuck' : ''}>
            <b>{value}</b>
            <small>#{whole(index)}</small>
          </li>
        ))}
      </ol>
      <p class="hint">
        In page {whole(page)} of segment {whole(segment)}
        {expires !== undefined && !hidden && `, claimed until ${time(expires)} unless it is visited again`}.
        {expires !== undefined &&
          hidden &&
          ` If nothing changes, other URLs keep them above zero until ${time(expires)}.`}
      </p>
      {redisKey !== undefined && (
        <>
          <h3>In Redis</h3>
          <Copyable label="Redis key of the segment" text={redisKey} />
          <Copyable label="Command that reads these counters" text={commandFor(layer, redisKey)} />
          {cell === 'u8' && (
            <p class="hint">
              Each byte is 16 times the counter plus its expiry. Expired counters are shown as 0.
            </p>
          )}
        </>
      )}
    </section>
  );
}

/** Quoted for a shell, where # and { have special meanings. */
function commandFor({ cell, counters }: LayerFinding, key: string): string {
  const gets = counters.map(({ index }) => `GET ${cell} '#${index}'`);
  return `redis-cli BITFIELD_RO '${key}' ${gets.join(' ')}`;
}
