import { duration, oneIn, share, short, whole } from '../../format.js';
import type { PerHost } from '#client';
import type { Whole } from '../../sets.js';
import { Facts } from '../../ui/facts.js';

const HASH_SCHEMES: Readonly<Record<number, string>> = { 2: '2, SipHash', 3: '3, SipHash by host' };

/** A set's or filter's settings, and the geometry that follows from them. */
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
          ['Hash scheme', HASH_SCHEMES[geometry.hashScheme] ?? whole(geometry.hashScheme)],
          ...ofVisitedSet(described),
          ['Generation', <code key="generation">{generation}</code>],
        ]}
      />
    </section>
  );
}

function ofVisitedSet(described: Whole): (readonly [string, string])[] {
  if (!('urlProfile' in described)) return [];
  const { urlProfile, maxAttempts, maxAgeSeconds, perHost } = described;
  const { base = 'safe', version = 1, trackingVersion: _, ...rules } = urlProfile;
  const on = Object.entries(rules).map(([rule, value]) =>
    Array.isArray(value) ? `${rule}: ${value.join(', ')}` : rule,
  );
  return [
    ['URL identity', [`${base}, version ${version}`, ...on].join(', ')],
    ['Attempts', maxAttempts === undefined ? 'no limit' : whole(maxAttempts)],
    ['Forgets after', maxAgeSeconds === undefined ? 'never' : duration(maxAgeSeconds)],
    ['Hosts', perHost ? paceOf(perHost) : 'no turns'],
  ];
}

function paceOf({ delaySeconds, maxLeased, maxUrls }: PerHost): string {
  const limits = [
    delaySeconds === undefined ? [] : [`${duration(delaySeconds)} apart`],
    maxLeased === undefined ? [] : [`${whole(maxLeased)} leased at a time`],
    maxUrls === undefined ? [] : [`at most ${whole(maxUrls)} URLs each`],
  ].flat();
  return ['take turns', ...limits].join(', ');
}
