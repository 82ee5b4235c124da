import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { ItemTask, LayerShape } from './frame.js';
import { itemProgram } from './programs.js';

const BOTH = [false, true];

/** Tasks of every kind: one layer or two, one piece or several, few hashes or many. */
function* tasks(): Generator<ItemTask> {
  for (const ages of BOTH) {
    const layers: LayerShape[] = [2, 20].flatMap((hashes) =>
      BOTH.flatMap((wide) =>
        BOTH.map((split) => ({ hashes, wide, split, ...(ages && { pageBytes: wide ? 512 : 256 }) })),
      ),
    );
    const stacks = layers.flatMap((layer) => [[layer], [layer, layer]]);
    for (const own of stacks) {
      for (const sync of [undefined, ...stacks.slice(0, 4)]) {
        const rest = { stacks: { own, sync }, ages };
        for (const queued of BOTH) {
          for (const hosts of queued ? BOTH : [false]) {
            yield { ...rest, verb: 'add', queued, hosts, multiset: false };
            yield { ...rest, verb: 'add', queued, hosts, visits: true, multiset: false };
            yield { ...rest, verb: 'remove', queued, hosts, multiset: false };
            if (queued) yield { ...rest, verb: 'remove', queued, hosts, multiset: false, named: true };
          }
        }
        const reads = sync ? (['check', 'count', 'listed', 'keep'] as const) : (['check', 'count'] as const);
        for (const verb of reads) yield { ...rest, verb, queued: false, hosts: false, multiset: false };
        if (!ages && !sync) yield { ...rest, verb: 'add', queued: false, hosts: false, multiset: true };
      }
    }
  }
}

describe('the scripts on items', () => {
  it('include the one that the README of this room shows', () => {
    const readme = readFileSync(new URL('README.md', import.meta.url), 'utf8');
    const shown = /```lua\n([^]*?)\n```/.exec(readme)?.[1];
    const own = [{ hashes: 2, wide: false, split: false }];
    const { script } = itemProgram({
      ...{ verb: 'check', stacks: { own }, ages: false, queued: false, hosts: false, multiset: false },
    });
    expect(shown).toBe(script.lua.trim());
  });

  it('have different names, by which the client identifies them', () => {
    const texts = new Map<string, string>();
    for (const task of tasks()) {
      const { name, lua } = itemProgram(task).script;
      expect([name, texts.get(name) ?? lua]).toEqual([name, lua]);
      texts.set(name, lua);
    }
  });
});
