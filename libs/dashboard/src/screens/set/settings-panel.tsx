import { duration, oneIn, share, short, whole } from '../../format.js';
import type { Whole } from '../../sets.js';
import { Facts } from '../../ui/facts.js';

/** The settings of a set or filter, and the geometry that follows from them. */
export function SettingsPanel({ described }: { readonly described: Whole }): preact.JSX.Element {
  const { type, semantics, capacity, errorRate, growth, geometry, generation } = described;
  return (
    <section class="panel" aria-labelledby="settings">
      <h2 id="settings">Settings</h2>
      <Facts
        facts={[
          ['Capacity', whole(capacity)],
          ['Error rate', `${share(errorRate)}, ${oneIn(errorRate)}`],
          ['Growth', growth === 'auto' ? 'in layers' : 'none'],
          ['Cells', type === 'counting' ? 'counters' : 'bits'],
          ['Repeated adds', semantics === 'set' ? 'have no effect' : 'are counted'],
          ['Hashes', whole(geometry.hashes)],
          ['Counters per page', whole(geometry.pageSize)],
          ['Counters', short(geometry.counters)],
          ['Segments', whole(geometry.segments)],
          ['Hash scheme', geometry.hashScheme === 2 ? '2, SipHash' : whole(geometry.hashScheme)],
          ...ofVisitedSet(described),
          ['Generation', <code key="generation">{generation}</code>],
        ]}
      />
    </section>
  );
}

function ofVisitedSet(described: Whole): (readonly [string, string])[] {
  if (!('urlProfile' in described)) return [];
  const { urlProfile, maxAttempts, maxAgeSeconds } = described;
  const { base = 'safe', version = 1, trackingVersion: _, ...rules } = urlProfile;
  const on = Object.entries(rules).map(([rule, value]) =>
    Array.isArray(value) ? `${rule}: ${value.join(', ')}` : rule,
  );
  return [
    ['URL identity', [`${base}, version ${version}`, ...on].join(', ')],
    ['Attempts', maxAttempts === undefined ? 'no limit' : whole(maxAttempts)],
    ['Forgets after', maxAgeSeconds === undefined ? 'never' : duration(maxAgeSeconds)],
  ];
}
