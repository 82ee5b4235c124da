import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { itemProgram } from './programs.js';

describe('the scripts on items', () => {
  it('are as the README of this room shows', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const shown = /```lua\n([^]*?)\n```/.exec(readme)?.[1];
    const own = [{ hashes: 2, wide: false, split: false }];
    const { script } = itemProgram({
      ...{ verb: 'check', lists: { own }, ages: false, queued: false, multiset: false },
    });
    expect(shown).toBe(script.lua.trim());
  });
});
