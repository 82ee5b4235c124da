import { expect } from '@jest/globals';
import type { TestApp } from './app.js';

/** Longer than figures from the store stay fresh. */
const STALE_MS = 5_000;

/** A page of metrics. */
export class MetricsPage {
  /** Values by series, as `name{label="value"}`. */
  private readonly values: ReadonlyMap<string, number>;

  constructor(readonly text: string) {
    const samples = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    this.values = new Map(
      samples.map((line) => {
        const space = line.lastIndexOf(' ');
        return [line.slice(0, space), Number(line.slice(space + 1))];
      }),
    );
  }

  /** A series' value. Undefined if the page doesn't have it. */
  value(series: string): number | undefined {
    return this.values.get(series);
  }

  /** The series whose names begin like this. */
  series(begin: string): string[] {
    return [...this.values.keys()].filter((series) => series.startsWith(begin));
  }

  /** The values of all series with this name, by their labels. */
  of(name: string): Record<string, number> {
    return Object.fromEntries(
      this.series(`${name}{`).map((series) => [series.slice(name.length), this.value(series) as number]),
    );
  }
}

/** Scrapes a service. Moves its clock, so that the figures from the store are current. */
export async function scrape(app: TestApp, headers: Record<string, string> = {}): Promise<MetricsPage> {
  app.advance(STALE_MS);
  const answer = await fetch(`${app.url}/metrics`, { headers });
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toContain('text/plain; version=0.0.4');
  return new MetricsPage(await answer.text());
}
