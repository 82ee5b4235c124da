/** What the rules of URL identity do, in few words. */
const RULES: Readonly<Record<string, string>> = {
  S2: 'is read as browsers read it',
  S4: 'the dot behind the host goes',
  S5: '% that begins no escape is %25',
  S6: 'escapes that need not be are characters',
  S7: 'escapes are upper-case',
  S8: 'what no URI may contain is escaped',
  S10: 'what is empty in the query goes',
  S11: 'parameters are sorted by name',
  S12: 'the fragment goes',
  ignoreScheme: 'http and https are one',
  stripUserinfo: 'user and password go',
  stripWww: 'www. goes',
  formQuery: 'the query is read as a form',
  stripSession: 'ids of sessions go',
  collapseSlashes: 'slashes in a row are one',
  stripDirIndex: 'the index file goes',
  stripTrailingSlash: 'the slash at the end goes',
  dropParams: 'these parameters go',
  keepParams: 'only some parameters stay',
  stripTracking: 'parameters of tracking go',
  dropBlank: 'parameters without a value go',
  sortValues: 'values of one name are sorted, too',
  dropFragments: 'the fragment goes, whatever it is',
};

/** What a rule of URL identity does, by its name there, such as S2; empty for one that is not known here. */
export function wordsFor(rule: string): string {
  return RULES[rule] ?? '';
}
