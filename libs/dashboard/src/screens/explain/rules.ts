/** Short explanations of the URL identity rules. */
const RULES: Readonly<Record<string, string>> = {
  S2: 'parses the URL as browsers do',
  S4: 'removes the dot after the host',
  S5: 'escapes a stray % as %25',
  S6: 'decodes needless escapes',
  S7: 'writes escapes in upper case',
  S8: 'escapes characters that a URI must not contain',
  S10: 'removes empty parts of the query',
  S11: 'sorts parameters by name',
  S12: 'removes the fragment',
  ignoreScheme: 'treats http and https as one',
  stripUserinfo: 'removes user and password',
  stripWww: 'removes www.',
  formQuery: 'reads the query as a form',
  stripSession: 'removes session ids',
  collapseSlashes: 'merges repeated slashes',
  stripDirIndex: 'removes the index file',
  stripTrailingSlash: 'removes the trailing slash',
  dropParams: 'removes the listed parameters',
  keepParams: 'keeps only the listed parameters',
  stripTracking: 'removes tracking parameters',
  dropBlank: 'removes parameters without a value',
  sortValues: 'also sorts parameters of the same name by value',
  dropFragments: 'removes every fragment',
};

/** Explains a rule by its id, such as S2. Empty if the id is unknown. */
export function wordsFor(rule: string): string {
  return RULES[rule] ?? '';
}
