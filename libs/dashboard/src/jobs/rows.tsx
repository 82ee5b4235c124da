import { whole } from '../format.js';
import { hashOf } from '../router.js';
import { may } from '../session.js';
import type { Kind } from '../sets.js';
import { Badge } from '../ui/badge.js';
import { INVALID } from './action.js';
import type { Row } from './tally.js';

const TONES: Readonly<Record<string, string>> = {
  new: 'info',
  seen: 'info',
  [INVALID]: 'bad',
  saturated: 'warn',
};

/** A line may have a million characters, too many for a browser to draw. */
const MOST_SHOWN = 2_000;

function cut(item: string): string {
  return item.length > MOST_SHOWN ? `${item.slice(0, MOST_SHOWN)}…` : item;
}

/** The results of the first lines. */
export function ResultRows({
  rows,
  of,
  kind,
  name,
}: {
  readonly rows: readonly Row[];
  readonly of: number;
  readonly kind: Kind;
  readonly name: string;
}): preact.JSX.Element | null {
  if (rows.length === 0) return null;
  return (
    <details class="rows" open={of <= rows.length}>
      <summary>{of > rows.length ? `The first ${whole(rows.length)} lines` : 'Line by line'}</summary>
      <ul>
        {rows.map(({ line, item, result }) => (
          <li key={line}>
            <Badge tone={TONES[result] ?? ''} text={result} />
            <span class="item">{cut(item)}</span>
            {result !== INVALID && may('admin') && (
              <a href={hashOf([kind, name, 'explain'], { item })} aria-label={`Explain ${cut(item)}`}>
                Explain
              </a>
            )}
          </li>
        ))}
      </ul>
    </details>
  );
}

/** Why lines are invalid. */
export function InvalidRows({
  rows,
  of,
  unit,
}: {
  readonly rows: readonly Row[];
  readonly of: number;
  readonly unit: string;
}): preact.JSX.Element {
  const more = of > rows.length ? `, the first ${whole(rows.length)}` : '';
  return (
    <details class="rows" open>
      <summary>
        {whole(of)} {of === 1 ? `is not a valid ${unit}` : `are not valid ${unit}s`}
        {more}
      </summary>
      <ul>
        {rows.map(({ line, item, reason }) => (
          <li key={line}>
            <small>{whole(line)}</small>
            <span class="item">{cut(item)}</span>
            <span class="fault">{reason}</span>
          </li>
        ))}
      </ul>
    </details>
  );
}
