import { readConfig } from '../../src/config/config.js';

/** The service reads some settings only if another one is set. */
const ENVIRONMENTS: readonly Record<string, string>[] = [
  {},
  { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' },
];

/** The names of all settings that the service reads, in order. */
export function settingsRead(): string[] {
  const read = new Set<string>();
  for (const env of ENVIRONMENTS) {
    readConfig(
      new Proxy(env, {
        get(_, name) {
          read.add(String(name));
          return env[String(name)];
        },
      }),
    );
  }
  return [...read].sort();
}
