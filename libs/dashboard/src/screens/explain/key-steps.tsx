import type { UrlStep } from '#client';
import { changeOf } from './change.js';
import { wordsFor } from './rules.js';

/** A URL, its key, and the rules that changed it. */
export interface Keyed {
  readonly url: string;
  readonly key: string;
  readonly rules: readonly UrlStep[];
}

/** Shows the steps from a URL to its key. */
export function KeySteps({ keyed: { url, key, rules } }: { readonly keyed: Keyed }): preact.JSX.Element {
  return (
    <section class="panel" aria-labelledby="key">
      <h2 id="key">The key</h2>
      <p class="key">
        <code>{key}</code>
      </p>
      {rules.length === 0 ? (
        <p class="hint">
          {key === url ? 'The URL as received: no rule changes it.' : 'The service named no rule.'}
        </p>
      ) : (
        <ol class="steps">
          {rules.map(({ rule, before, after }, i) => (
            <li key={i}>
              <p>
                <b>{rule}</b> <span class="faint">{wordsFor(rule)}</span>
              </p>
              <Change before={before} after={after} />
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Change({ before, after }: { readonly before: string; readonly after: string }): preact.JSX.Element {
  const { head, gone, come, tail } = changeOf(before, after);
  return (
    <p class="change">
      <code>
        {head}
        {gone !== '' && <del>{gone}</del>}
        {come !== '' && <ins>{come}</ins>}
        {tail}
      </code>
    </p>
  );
}
