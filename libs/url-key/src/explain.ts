import { compileProfile, compileRules, rewriteWith } from './canonicaliser.js';
import { InvalidUrl } from './invalid-url.js';
import type { NormalisedUrlProfile } from './profile.js';
import { withoutEmptyTokens } from './query.js';
import { traceReading, type Step } from './trace.js';

export type { Step } from './trace.js';

/** The steps from a URL to its key. */
export interface Explanation {
  readonly key: string;
  /**
   * The rules that changed the URL, in the order in which they apply. The first step starts from the URL, the last ends
   * with the key.
   */
  readonly steps: readonly Step[];
}

type Rule = readonly [name: string, apply: (text: string) => string];

const STRICT = { base: 'strict', version: 1 } as const;

/**
 * Compiles a profile into a function that explains a key: it applies the rules one by one and records each one's
 * change. It is many times slower than UrlCanonicaliser.key. Tests check that both give the same key.
 */
export function compileExplanation(profile: NormalisedUrlProfile): (url: string) => Explanation | InvalidUrl {
  const canonicaliser = compileProfile(profile);
  const rules = rulesOf(profile);
  return (url) => {
    const key = canonicaliser.key(url);
    if (key instanceof InvalidUrl) return key;
    const steps = traceReading(url, profile.keepFragments);
    let text = steps.at(-1)?.after ?? url;
    for (const [rule, apply] of rules) {
      const after = apply(text);
      if (after !== text) steps.push({ rule, before: text, after });
      text = after;
    }
    return { key, steps };
  };
}

/** A profile's rules beyond `strict`, each compiled separately, in the same order as in a compiled profile. */
function rulesOf(profile: NormalisedUrlProfile): Rule[] {
  const { base, trackingVersion, dropParams, keepParams } = profile;
  const rules: Rule[] = [];
  const add = (name: keyof NormalisedUrlProfile, value: object = { [name]: true }): void => {
    if (profile[name] !== undefined) rules.push([name, compileRules({ ...STRICT, ...value })]);
  };
  add('ignoreScheme');
  add('stripUserinfo');
  add('stripWww');
  add('formQuery');
  add('stripSession');
  add('collapseSlashes');
  rules.push(...directoryRules(profile));
  if (dropParams) add('dropParams', { dropParams });
  if (keepParams) add('keepParams', { keepParams });
  if (trackingVersion) add('stripTracking', { stripTracking: true, trackingVersion });
  add('dropBlank');
  if (base === 'safe') {
    rules.push(['S10', rewriteWith({ query: withoutEmptyTokens })]);
    rules.push(['S11', compileRules({ base, version: 1 })]);
    add('sortValues', { base, sortValues: true });
  }
  add('dropFragments');
  return rules;
}

/** How many rounds of the two rules below are separate steps. All later rounds are one step. */
const ROUNDS = 3;

/**
 * The two rules for directories. Each can expose work for the other (`/a/index.html/`), so they alternate until neither
 * changes anything.
 */
function directoryRules({ stripDirIndex, stripTrailingSlash }: NormalisedUrlProfile): Rule[] {
  const rules: Rule[] = [];
  if (stripDirIndex) rules.push(['stripDirIndex', compileRules({ ...STRICT, stripDirIndex })]);
  if (stripTrailingSlash) rules.push(['stripTrailingSlash', compileRules({ ...STRICT, stripTrailingSlash })]);
  if (!stripDirIndex || !stripTrailingSlash) return rules;
  const both = compileRules({ ...STRICT, stripDirIndex, stripTrailingSlash });
  return [...Array.from({ length: ROUNDS }, () => rules).flat(), ['stripDirIndex', both]];
}
