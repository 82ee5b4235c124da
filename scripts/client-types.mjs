/**
 * Writes the API types of the TypeScript client from docs/openapi.json. With --check it writes nothing, and exits 1 if
 * the existing file differs.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import { format } from './format.mjs';

const root = join(import.meta.dirname, '..');
const target = join(root, 'libs', 'client', 'src', 'api-types.ts');
const HEADER = '// Made from docs/openapi.json by `npm run client:types`.\n\n';

const made = await format(target, HEADER + (await typesOf(join(root, 'docs', 'openapi.json'))));
if (!process.argv.includes('--check')) {
  await writeFile(target, made);
} else if ((await readFile(target, 'utf8').catch(() => '')) !== made) {
  console.error(`${target} does not match docs/openapi.json; run \`npm run client:types\``);
  process.exitCode = 1;
}

/** An OpenAPI document's schemas as TypeScript, without the types for requests and responses. */
async function typesOf(file) {
  const { components, ...document } = JSON.parse(await readFile(file, 'utf8'));
  const output = await mkdtemp(join(tmpdir(), 'unseen-types-'));
  try {
    await createClient({
      input: { ...document, paths: {}, components: { schemas: components.schemas } },
      output: { path: output },
      plugins: ['@hey-api/typescript'],
      parser: { filters: { orphans: true } },
      logs: { level: 'silent', file: false },
    });
    const text = await readFile(join(output, 'types.gen.ts'), 'utf8');
    // Without paths, the generator adds a type with a base URL, which this client doesn't use.
    return text.replace(/^\/\/.*\n+/, '').replace(/export type ClientOptions = \{[^}]*\};\n+/, '');
  } finally {
    await rm(output, { recursive: true, force: true });
  }
}
