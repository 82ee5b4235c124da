import { parseArgs } from 'node:util';

export const USAGE = `npm run keys -- create --name NAME --scope SCOPE [--prefix PREFIX [--max-filters N] [--max-bytes N]] [--expires-at TIME]
npm run keys -- list
npm run keys -- revoke ID

Makes, lists and revokes API keys in the store that the settings (STORE, DATA_DIR, REDIS_URL, …) name. With the
embedded store the service must be stopped; while it runs, use POST, GET and DELETE /v1/keys. Only create makes a
data directory where there is none.

  --name NAME         what people call the key
  --scope SCOPE       read, write (includes read) or admin (includes write); may be given several times
  --prefix PREFIX     the key is for names of filters and visited sets that begin with it only
  --max-filters N     with this key no filter is made once there are N filters and visited sets of the prefix
  --max-bytes N       nor one with which they would take more than N bytes; without either there is no bound
  --expires-at TIME   such as 2030-01-31T12:00:00Z; without it the key does not expire
`;

/** The command cannot be carried out as given. The message says why. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

export type Command =
  | { readonly verb: 'help' }
  | { readonly verb: 'list' }
  | { readonly verb: 'create'; readonly key: Readonly<Record<string, unknown>> }
  | { readonly verb: 'revoke'; readonly id: string };

/** Reads the arguments after the program's name. It does not check the values for a key yet. Throws CommandError. */
export function readCommand(args: readonly string[]): Command {
  const { values, positionals } = parse(args);
  const [verb, ...operands] = positionals;
  if (values.help) return { verb: 'help' };
  if (verb === 'list' && operands.length === 0) return { verb };
  if (verb === 'revoke' && operands[0] !== undefined && operands.length === 1)
    return { verb, id: operands[0] };
  if (verb !== 'create' || operands.length > 0) throw new CommandError(`not understood\n\n${USAGE}`);
  const { name, scope: scopes, prefix, 'expires-at': expiresAt } = values;
  const limits = { maxFilters: numberIn(values['max-filters']), maxBytes: numberIn(values['max-bytes']) };
  if (name === undefined || scopes === undefined) {
    const missing = name === undefined ? '--name NAME' : '--scope SCOPE, one of read, write and admin';
    throw new CommandError(`create needs ${missing}\n\n${USAGE}`);
  }
  const given = Object.entries({ name, scopes, prefix, ...limits, expiresAt }).filter(
    ([, value]) => value !== undefined,
  );
  return { verb, key: Object.fromEntries(given) };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        name: { type: 'string' },
        scope: { type: 'string', multiple: true },
        prefix: { type: 'string' },
        'max-filters': { type: 'string' },
        'max-bytes': { type: 'string' },
        'expires-at': { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    });
  } catch (error) {
    throw new CommandError(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
  }
}

/** A number as JSON has it. Any other text stays as it is, and is refused later under the name of its option. */
function numberIn(text: string | undefined): number | string | undefined {
  return text !== undefined && /^\d+$/.test(text) ? Number(text) : text;
}
