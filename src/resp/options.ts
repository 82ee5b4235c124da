import { isUtf8 } from 'node:buffer';
import { show } from '../errors/show.js';
import { showBytes } from '../errors/show-bytes.js';
import type { CommandArguments } from './command.js';
import { RespError, syntaxError } from './error-reply.js';
import { MEMBERS, type OptionName } from './option-names.js';

/** Larger numbers stay text, so that errors show all their digits. */
const NUMBER = /^(0|[1-9]\d{0,14})$/;

/** The arguments before a list, or all of them if the command has no list. */
export interface Options {
  /** Index of the first item of the list. */
  readonly firstItem: number;
  readonly key: string | undefined;
  /** The other options as members of an HTTP body. Their order doesn't depend on the order of the options. */
  readonly body: Readonly<Partial<Record<string, unknown>>>;
}

/**
 * Reads a command's options, which follow its first argument, in any order. `list` is the word before the list. Throws
 * RespError for options that the command doesn't have. The services check the values.
 */
export function optionsIn(
  args: CommandArguments,
  names: readonly OptionName[],
  list?: 'URLS' | 'IDS',
): Options {
  const found: Partial<Record<OptionName, unknown>> = {};
  let at = 1;
  for (; at < args.count; at++) {
    const word = args.word(at);
    if (word === list) break;
    const name = names.find((one) => one === word);
    if (name === undefined) {
      const expected = [...names, ...(list ? [list] : [])].join(', ');
      throw syntaxError(`${show(args.text(at))} is none of ${expected}`);
    }
    if (name in found) throw syntaxError(`${name} may be given once`);
    if (name === 'NOCOUNT') found[name] = false;
    else if (++at < args.count) found[name] = valueOf(name, Buffer.from(args.bytes(at), 'latin1'));
    else throw syntaxError(`${name} needs a value`);
  }
  if (list !== undefined && at + 1 >= args.count) {
    throw syntaxError(`${list} and at least one ${list === 'URLS' ? 'URL' : 'id'} must follow the options`);
  }
  if (list === 'IDS') refuseOptions(args, names, at + 1);
  const body: Record<string, unknown> = {};
  for (const name of names) if (name !== 'KEY' && name in found) body[MEMBERS[name]] = found[name];
  return { firstItem: at + 1, key: found.KEY as string | undefined, body };
}

/** Throws RespError for an option among the ids. The command would take it for an id and run without the option. */
function refuseOptions(args: CommandArguments, names: readonly OptionName[], first: number): void {
  for (let at = first; at < args.count; at++) {
    const late = names.find((name) => name === args.word(at));
    if (late !== undefined) throw syntaxError(`${late} must come before IDS`);
  }
}

function valueOf(name: OptionName, bytes: Buffer): string | number {
  if (!isUtf8(bytes)) throw syntaxError(`${name} must be valid UTF-8, not ${showBytes(bytes)}`);
  const text = bytes.toString();
  if (name === 'KEY' || name === 'REASON') return text;
  if (name === 'PRIORITY') return text.toLowerCase();
  return NUMBER.test(text) ? Number(text) : text;
}

/** Argument `index`, a number in decimal notation. Throws RespError for other text. */
export function numberIn(args: CommandArguments, index: number): number {
  const text = args.text(index);
  if (/^(\d+(\.\d*)?|\.\d+)(e-?\d{1,3})?$/i.test(text)) return Number(text);
  throw new RespError('ERR', `argument ${index + 1} must be a number without a sign, not ${show(text)}`);
}
