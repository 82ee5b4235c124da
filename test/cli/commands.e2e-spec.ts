import { mkdtemp, open, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { UnseenClient } from '#client';
import { freshName, startApp, type TestApp } from '../support/app.js';
import { runCommand, startCommand } from '../support/command-line.js';
import { LOSING } from '../support/losing-services.js';
import { freePort } from '../support/redis-server.js';
import type { Ended } from '../support/service-process.js';

const urlAt = (i: number): string => `https://example.org/${i}`;
const urls = (count: number, from = 0): string[] => Array.from({ length: count }, (_, i) => urlAt(from + i));

describe('the command line', () => {
  let app: TestApp;
  let client: UnseenClient;
  let folder: string;
  beforeAll(async () => {
    app = await startApp();
    client = new UnseenClient({ url: app.url });
    folder = await mkdtemp(join(tmpdir(), 'unseen-cli-'));
  });
  afterAll(async () => {
    await app.close();
    await rm(folder, { recursive: true, force: true });
  });

  const unseen = (args: readonly string[], input = ''): Promise<Ended> =>
    runCommand(args, { env: { UNSEEN_URL: app.url, HOME: folder }, input });
  const fileOf = async (name: string, lines: readonly string[]): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, `${lines.join('\n')}\n`);
    return path;
  };

  it('creates, lists, shows, plans, clears, and drops', async () => {
    const name = freshName('set');
    expect(
      await unseen(['create', name, '--capacity', '1e6', '--max-age', '30d', '--max-attempts', '3']),
    ).toEqual({
      ...{ code: 0, stderr: '' },
      stdout: expect.stringMatching(
        new RegExp(`^visited set ${name}: 1,000,000 items at an error rate of 0.0001, [\\d.]+ MB\n$`),
      ),
    });
    expect(await client.visitedSet(name).describe()).toMatchObject({
      maxAgeSeconds: 2_592_000,
      maxAttempts: 3,
    });
    await client.visitedSet(name).visit(urls(3));
    const filter = freshName();
    const made = ['create', filter, '--type', 'counting', '--capacity', '1000', '--error-rate', '0.01'];
    expect(await unseen([...made, '--semantics', 'multiset'])).toMatchObject({ code: 0 });
    const { stdout } = await unseen(['list']);
    expect(stdout).toMatch(new RegExp(`^${name}  visited set  3 of 1,000,000 items  `, 'm'));
    expect(stdout).toMatch(new RegExp(`^${filter}  filter  0 of 1,000 items  error rate 0.01  `, 'm'));
    const shown = await unseen(['show', name, '--json']);
    expect(JSON.parse(shown.stdout)).toMatchObject({ kind: 'visited set', name, items: 3 });
    expect((await unseen(['show', filter])).stdout).toMatch(
      /^kind: filter\nname: .*\n(?:.+: .*\n)*semantics: multiset\n/,
    );
    expect((await unseen(['plan', '--capacity', '1e9'])).stdout).toMatch(
      /^[\d.]+ GB, \d+ hashes per item\n$/,
    );
    // A new set or filter matches its plan. Sets grow, and filters don't.
    for (const shape of [[], ['--growth', 'none'], ['--type', 'standard'], ['--per-host']]) {
      const args = ['--capacity', '1e6', '--error-rate', '1e-4', ...shape, '--json'];
      const [planned, created] = [
        await unseen(['plan', ...args]),
        await unseen(['create', freshName(), ...args]),
      ].map(({ stdout }) => (JSON.parse(stdout) as { memoryBytes: number }).memoryBytes);
      expect([shape, planned]).toEqual([shape, created]);
    }
    expect((await unseen(['clear', name, '--dry-run'])).stdout).toContain(
      `would clear visited set ${name} (3 items, `,
    );
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: 3 });
    expect((await unseen(['clear', name])).stdout).toContain(`cleared visited set ${name} (3 items, `);
    expect(await client.visitedSet(name).describe()).toMatchObject({ items: 0 });
    expect(await unseen(['drop', name, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' });
    await expect(client.visitedSet(name).describe()).rejects.toMatchObject({ status: 404 });
  });

  it('lists a grown set’s fill', async () => {
    const name = freshName('set');
    const set = client.visitedSet(name);
    await set.create({ capacity: 1_000 });
    await set.visit(urls(2_000));
    expect((await unseen(['list'])).stdout).toMatch(
      new RegExp(`^${name}  visited set  2,000 of 3,[\\d]{3} items \\(grown from 1,000\\)  `, 'm'),
    );
  });

  it('visits, checks as grep does, and forgets URLs from files and stdin', async () => {
    const name = freshName('set');
    await client.visitedSet(name).create({ capacity: 10_000 });
    const file = await fileOf('list', [...urls(2_500), 'no URL']);
    const visited = await unseen(['visit', name, file]);
    expect(visited).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(`^visit ${name}: 2,500 new, 0 seen, 1 invalid `),
      stderr: expect.stringContaining('"no URL": '),
    });
    const list = `${[urlAt(1), urlAt(9_000), urlAt(2)].join('\n')}\n`;
    expect(await unseen(['check', name], list)).toEqual({ code: 0, stdout: `${urlAt(9_000)}\n`, stderr: '' });
    expect(await unseen(['check', name, '--seen', '-'], list)).toMatchObject({
      stdout: `${urlAt(1)}\n${urlAt(2)}\n`,
    });
    expect(await unseen(['check', name, '--json'], list)).toMatchObject({
      stdout: `{"url":"${urlAt(9_000)}","result":"unseen"}\n`,
    });
    expect(await unseen(['check', name], `${urlAt(1)}\n`)).toEqual({ code: 1, stdout: '', stderr: '' });
    const tried = await unseen(['forget', name, '--dry-run'], list);
    expect(tried.stdout).toContain('would be: 2 forgotten, 1 absent; nothing was changed');
    expect(await client.visitedSet(name).check(urlAt(1))).toBe('seen');
    const forgotten = await unseen(['forget', name, '--json'], list);
    expect(JSON.parse(forgotten.stdout)).toMatchObject({
      ...{ verb: 'forget', name },
      counts: { forgotten: 2, absent: 1, saturated: 0, invalid: 0 },
    });
    expect(await client.visitedSet(name).check([urlAt(1), urlAt(3)])).toEqual(['unseen', 'seen']);
  });

  it('adds items to filters, removes them, and names refused items', async () => {
    const name = freshName();
    await client.filter(name).create({ type: 'counting', capacity: 10_000, errorRate: 1e-6 });
    const long = Array.from({ length: 150 }, (_, i) => 'x'.repeat(9_000 + i));
    const added = await unseen(['add', name], `${['a', ...long, 'b', 'a'].join('\n')}\n`);
    expect(added).toMatchObject({ code: 1, stdout: expect.stringContaining('2 new, 1 seen, 150 refused') });
    expect(added.stderr).toContain('the item must have at most 8192 bytes in UTF-8, not 9000');
    expect(added.stderr).toContain('and 130 more were refused');
    expect(await unseen(['check', name], 'a\nc\n')).toMatchObject({ stdout: 'c\n' });
    expect((await unseen(['remove', name, '--dry-run'], 'a\nc\n')).stdout).toContain(
      '1 removed, 1 absent; nothing',
    );
    expect((await unseen(['remove', name], 'a\nc\n')).stdout).toContain('1 removed, 1 absent, 0 saturated');
    expect(await client.filter(name).has(['a', 'b'])).toEqual([false, true]);
  });

  it('refuses a line that is too long for any request, and processes each other line once', async () => {
    const name = freshName();
    const filter = client.filter(name);
    await filter.create({ type: 'counting', semantics: 'multiset', capacity: 10_000, errorRate: 1e-6 });
    const items = Array.from({ length: 400 }, (_, i) => `item ${i}`);
    const lines = [...items.slice(0, 200), 'x'.repeat(600_000), ...items.slice(200), 'y'.repeat(600_000)];
    const added = await unseen(['add', name], `${lines.join('\n')}\n`);
    expect(added).toMatchObject({ code: 1, stdout: expect.stringContaining('400 new, 0 seen, 2 refused') });
    expect(await filter.count(items)).toEqual(items.map(() => 1));
  });

  it('syncs a set to the live URLs after a preview, and never locks it', async () => {
    const name = freshName('Team:Set');
    const set = client.visitedSet(name);
    await set.create({ capacity: 1_000 });
    await set.visit(urls(10));
    const file = await fileOf('live', urls(8, 4));
    const look = await unseen(['sync', name, file, '--dry-run']);
    expect(look).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('would forget 4 of 10 items; nothing was changed'),
    });
    const some = await fileOf('some', urls(2));
    const refused = await unseen(['sync', name, some]);
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('SYNC_WOULD_FORGET') });
    expect((await set.describe()) as object).not.toHaveProperty('sync');
    const done = await unseen(['sync', name, file, '--capacity', '5000', '--json']);
    expect(JSON.parse(done.stdout)).toMatchObject({ forgets: 4, counts: { kept: 6, new: 2 } });
    expect(await set.check([urlAt(3), urlAt(4), urlAt(11)])).toEqual(['unseen', 'seen', 'seen']);
    expect(await set.describe()).toMatchObject({ capacity: 5_000 });
    expect(await unseen(['sync', name, some, '--force'])).toMatchObject({ code: 0 });
    expect(await readdir(join(folder, '.local', 'state', 'unseen'))).toEqual([]);
  });

  it('exports whole files or none, and imports them', async () => {
    const name = freshName('Team:Set');
    await client.visitedSet(name).create({ capacity: 1_000 });
    await client.visitedSet(name).visit(urls(10));
    const file = join(folder, 'an.export');
    expect(await unseen(['export', name, '-o', file])).toMatchObject({ code: 0 });
    const copy = freshName('copy');
    expect(await unseen(['import', file, '--name', copy])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(copy),
    });
    expect(await client.visitedSet(copy).check(urlAt(9))).toBe('seen');
    expect(await unseen(['import', file])).toMatchObject({
      code: 4,
      stderr: expect.stringContaining('FILTER_EXISTS'),
    });
    const before = await readFile(file);
    expect(await unseen(['export', freshName(), '-o', file])).toMatchObject({ code: 4 });
    expect(await readFile(file)).toEqual(before);
    expect(await unseen(['export', name, '-o', join(folder, 'none', 'x')])).toMatchObject({
      ...{ code: 2, stderr: expect.stringMatching(/^unseen: cannot write ".*none\/x": ENOENT.*\n$/) },
    });
    await writeFile(join(folder, 'no.export'), 'hello');
    expect(await unseen(['import', join(folder, 'no.export')])).toMatchObject({
      ...{ code: 2, stderr: expect.stringMatching(/^unseen: cannot read ".*": it is not an export/) },
    });
    expect((await readdir(folder)).filter((one) => one.includes('.part-'))).toEqual([]);
  });

  it('works on a queue: exit status 0 acknowledges a URL, any other releases it with the reason', async () => {
    const name = freshName('set');
    const set = client.visitedSet(name);
    await set.create({ capacity: 1_000, maxAttempts: 1 });
    await set.discover([urlAt(1), { url: urlAt(2), payload: 'deep' }, `https://example.org/'$(touch x)`]);
    const script =
      'echo "$UNSEEN_ITEM|$UNSEEN_PAYLOAD|$UNSEEN_ATTEMPT|$1"; case "$1" in */1) echo "no such page" >&2; exit 7;; esac; true';
    const worked = await unseen([
      'work',
      name,
      '--exec',
      `sh -c '${script}' x`,
      '--until-empty',
      '--parallel',
      '3',
    ]);
    expect(worked).toMatchObject({ code: 1, stderr: 'no such page\n' });
    expect(worked.stdout).toContain(`${urlAt(2)}|deep|1|${urlAt(2)}\n`);
    expect(worked.stdout).toContain("https://example.org/'$(touch x)||1|https://example.org/'$(touch x)\n");
    expect(worked.stdout).toContain(`work ${name}: 2 done, 1 failed\n`);
    const dead: object[] = [];
    for await (const one of set.deadLetters()) dead.push(one);
    expect(dead).toMatchObject([{ url: urlAt(1), reason: 'exit status 7: no such page' }]);
  });

  it.each([['--help'], ['--version'], ['sync', '--help'], ['list'], ['keys', '--offline', 'list']])(
    'says why stdout takes no output from %s, and nothing if its reader has gone',
    async (...args) => {
      await client.visitedSet('unwritten').create({ capacity: 10 });
      const env = { UNSEEN_URL: app.url, HOME: folder, DATA_DIR: join(folder, 'offline') };
      const key = ['keys', '--offline', 'create', '--name', 'a', '--scope', 'read'];
      expect(await runCommand(key, { env })).toMatchObject({ code: 0 });
      const full = await open('/dev/full', 'w').catch(() => undefined);
      // Only Linux has this device.
      if (full) {
        const { code, stderr } = await runCommand(args, { env, stdout: full.fd });
        await full.close();
        expect([code, stderr]).toEqual([
          2,
          expect.stringMatching(/^unseen: cannot write the results: ENOSPC/),
        ]);
      }
      const gone = await startCommand(args, { env });
      gone.child.stdout?.destroy();
      expect(await gone.ended).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('creates, lists, and revokes keys', async () => {
    const made = await unseen(['keys', 'list']);
    expect(made).toEqual({ code: 0, stdout: '', stderr: '' });
  });

  it('fails with one line that names the value and the limit, and an exit status', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    const cases: readonly [readonly string[], number, RegExp][] = [
      [['list', '--url', away], 3, /^unseen: http:\S+ could not be reached: .*ECONNREFUSED.*\n$/],
      [
        ['list', '--url', 'redis://a'],
        2,
        /^unseen: UNSEEN_URL or --url: url must be an http or https URL.*"redis:\/\/a"\n$/,
      ],
      [['nothing'], 2, /unknown command 'nothing'/],
      [['create', 'x'], 2, /required option '--capacity <items>'/],
      [
        ['create', 'x', '--capacity', 'many'],
        2,
        /'many' is invalid\. It must be a whole number from 1 to \d+\./,
      ],
      [
        ['create', 'x y', '--capacity', '5'],
        4,
        /^unseen: VALIDATION_FAILED: name must be 1 to 64 of .*, not "x y".*\n$/,
      ],
      [
        ['create', 'x', '--capacity', '5', '--semantics', 'set'],
        2,
        /^unseen: --semantics applies to filters.*\n$/,
      ],
      [
        ['visit', 'nobody', '-'],
        4,
        /^unseen: no visited set or filter is called "nobody"; create it with unseen create\n$/,
      ],
      [
        ['create', 'x', '--capacity', '5', '--per-host-delay', '1500ms'],
        2,
        /'1500ms' is invalid\. It must be a whole number of seconds from 1 to 86400/,
      ],
      [
        ['visit', 'nobody', '--parallel', '17'],
        2,
        /'17' is invalid\. It must be a whole number from 1 to 16\./,
      ],
      [
        ['work', 'nobody', '--exec', 'true', '--lease', '0'],
        2,
        /'0' is invalid\. It must be a whole number of seconds from 1 to 86400/,
      ],
      [['work', 'nobody', '--exec', ' '], 2, /argument ' ' is invalid\. It must not be empty\./],
      [['show', ''], 2, /^unseen: a name must have 1 to 64 characters of .*, not ""\n$/],
      [['create', '..', '--capacity', '5'], 2, /^unseen: a name must have .*, not "\.\."\n$/],
      [['keys', 'revoke', '..'], 2, /^unseen: an id must be one that the service issued, not "\.\."\n$/],
    ];
    for (const [args, code, says] of cases) {
      const ended = await unseen(args);
      expect([args, ended.code, ended.stdout]).toEqual([args, code, '']);
      expect(ended.stderr).toMatch(says);
    }
    const set = freshName('set');
    await client.visitedSet(set).create({ capacity: 10 });
    expect(await unseen(['add', set, '-'])).toMatchObject({
      ...{ code: 2, stderr: `unseen: add works on filters only, and "${set}" is a visited set\n` },
    });
    expect(await unseen(['hosts', 'drop', set, '.'])).toMatchObject({
      ...{ code: 2, stderr: 'unseen: a host must be a name or an address, not "."\n' },
    });
    expect(await unseen(['visit', set, 'none.txt'])).toMatchObject({
      ...{ code: 2, stderr: expect.stringMatching(/^unseen: cannot read "none\.txt": ENOENT.*\n$/) },
    });
    // Messages cut names at 80 characters, so the name has no folder.
    expect(await unseen(['visit', set, 'bücher\u001b[2J.txt'])).toMatchObject({
      stderr: expect.stringMatching(/^unseen: cannot read "bücher\\u001b\[2J\.txt": ENOENT/),
    });
    expect(await unseen(['create', 'bücher', '--capacity', '5'])).toMatchObject({
      stderr: expect.stringContaining(', not "bücher"'),
    });
    for (const args of [
      ['x\u001b[2J'],
      ['x\u001b[2J\n(Did you mean y?)'],
      ['hosts', 'set', set, 'a.example', '--blocked-until', '2h\u001b[2J\u202e'],
    ]) {
      const { code, stderr } = await unseen(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining('\\u001b[2J')]);
      expect(stderr).not.toMatch(/[\u001b\u202e]|\n.*y\?/);
    }
    expect(await unseen(['discovr'])).toMatchObject({
      stderr: "error: unknown command 'discovr'\n(Did you mean discover?)\n(add --help for the options)\n",
    });
    const groups = [
      ['hosts', 'list, set, drop', '. Without a command, hosts takes only a set.'],
      ['queue', 'list, drop', '. Without a command, queue takes only a set.'],
      ['keys', 'create, list, revoke', ''],
    ] as const;
    for (const [group, commands, more] of groups)
      expect(await unseen([group, 'block\u001b', set, 'a.example'])).toMatchObject({
        code: 2,
        stderr: `error: unknown command 'block\\u001b'${more}\n(commands of ${group}: ${commands}; add --help for the options)\n`,
      });
    for (const words of [
      ['queue', set],
      ['queue', set, '--state', 'waiting'],
      ['queue', '--state', 'waiting', set],
      ['queue', 'list', set],
    ])
      expect(await unseen(words)).toMatchObject({ code: 0, stderr: '' });
    expect(await unseen(['--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('UNSEEN_API_KEY'),
    });
  });
});

describe('the command line, with data that is lost', () => {
  it('shows, clears and drops the sets and filters', async () => {
    const service = await LOSING[1]![1]();
    const unseen = (...args: string[]): Promise<Ended> =>
      runCommand(args, { env: { UNSEEN_URL: service.app.url, HOME: tmpdir() } });
    try {
      const client = new UnseenClient({ url: service.app.url });
      const lost = async (handle: 'filter' | 'visitedSet'): Promise<string> => {
        const name = freshName();
        const spec = { capacity: 1_000, errorRate: 0.01 };
        const made =
          handle === 'filter'
            ? await client.filter(name).create({ ...spec, type: 'counting' })
            : await client.visitedSet(name).create(spec);
        await service.lose(made);
        return name;
      };
      for (const [handle, kind] of [
        ['filter', 'filter'],
        ['visitedSet', 'visited set'],
      ] as const) {
        const [cleared, dropped] = [await lost(handle), await lost(handle)];
        expect(await unseen('show', cleared)).toMatchObject({
          code: 0,
          stdout: expect.stringContaining('state: lost\n'),
        });
        expect(await unseen('clear', cleared)).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(`^cleared ${kind} ${cleared} \\(data lost, `),
        });
        expect(await unseen('drop', dropped)).toMatchObject({
          code: 0,
          stdout: expect.stringMatching(`^dropped ${kind} ${dropped} \\(data lost, `),
        });
        const { stdout } = await unseen('list');
        expect(stdout).toMatch(new RegExp(`^${cleared}  ${kind}  0 of 1,000 items`, 'm'));
        expect(stdout).not.toContain(dropped);
      }
      expect(await unseen('show', freshName())).toMatchObject({ code: 4 });
    } finally {
      await service.stop();
    }
  });
});
