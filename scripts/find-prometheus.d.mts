/** Prometheus and promtool for the tests, with their version; undefined if one is missing. */
export function findPrometheus():
  | { readonly prometheus: string; readonly promtool: string; readonly version: string }
  | undefined;
