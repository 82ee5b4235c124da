import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/config/config.js';
import { rowsOf } from '../support/markdown.js';
import { settingsRead } from '../support/settings.js';

const ROWS = rowsOf('docs/settings.md', 'setting');

describe('docs/settings.md', () => {
  it('has exactly the settings that the service reads', () => {
    expect(ROWS.map(([name]) => name).sort()).toEqual(settingsRead());
  });

  it('has their defaults', () => {
    const given = ROWS.filter(([, fallback]) => fallback !== 'unset');
    const env: Record<string, string> = {};
    for (const [name = '', fallback = ''] of given) env[name] = fallback;
    expect(readConfig(env)).toEqual(readConfig({}));
  });
});
