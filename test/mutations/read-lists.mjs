import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/**
 * A list is a text of mutations, each as
 *
 *   # the behaviour of the mutated code
 *   breaks: the sentence of the port that it breaks
 *   killed by: arguments for jest
 *   @@ path of the source
 *    lines as in a diff: the lines that begin with a blank or `-` occur once in the source, and the lines that begin
 *    with a blank or `+` take their place
 *
 * `killed by` may occur several times; its commands run in that order until one fails. A `killed by` before the first
 * mutation applies to the mutations that have none. `equivalent: why` in place of `breaks` marks a mutation that no
 * caller can see. It is not run.
 *
 * @typedef {object} Mutation
 * @property {string} list
 * @property {string} name
 * @property {string} breaks
 * @property {string[]} killedBy
 * @property {string | undefined} equivalent
 * @property {string} path
 * @property {string} before
 * @property {string} after
 */

/** The mutations in a folder's lists, in order. Throws at the first line that it can't read. */
export function readLists(folder) {
  const names = readdirSync(folder).filter((name) => name.endsWith('.diff'));
  return names
    .sort()
    .flatMap((name) => readList(basename(name, '.diff'), readFileSync(join(folder, name), 'utf8')));
}

/** @returns {Mutation[]} */
function readList(list, text) {
  const [head, ...blocks] = text.split(/^# /m);
  const usual = valuesOf(head.split('\n'), 'killed by');
  return blocks.map((block) => {
    const [name, ...lines] = block.replace(/\n+$/, '').split('\n');
    const start = lines.findIndex((line) => line.startsWith('@@ '));
    const notes = lines.slice(0, start);
    const changed = lines.slice(start + 1);
    const own = valuesOf(notes, 'killed by');
    const [breaks = ''] = valuesOf(notes, 'breaks');
    const [equivalent] = valuesOf(notes, 'equivalent');
    if (start < 0 || (breaks === '') === (equivalent === undefined)) {
      throw new Error(
        `${list}, “${name}”: a mutation needs a path, and either what it breaks or why it is equivalent`,
      );
    }
    const strange = changed.find((line) => !/^[-+ ]/.test(line) && line !== '');
    if (strange !== undefined) throw new Error(`${list}, “${name}”: not a line of a diff: ${strange}`);
    return {
      ...{ list, name, breaks, equivalent },
      killedBy: own.length > 0 ? own : usual,
      path: lines[start].slice(3),
      before: side(changed, '-'),
      after: side(changed, '+'),
    };
  });
}

function valuesOf(lines, name) {
  return lines.filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2));
}

/** The lines in a diff that have a given sign, or none. */
function side(lines, sign) {
  return lines
    .filter((line) => line === '' || line[0] === ' ' || line[0] === sign)
    .map((line) => `${line.slice(1)}\n`)
    .join('');
}

/** The faults of mutations, checked against the sources in `root`: one line each. */
export function faultsOf(mutations, root) {
  const seen = new Set();
  return mutations.flatMap(({ list, name, killedBy, equivalent, path, before, after }) => {
    const faults = [];
    const source = readFileSync(join(root, path), 'utf8');
    const found = source.split(before).length - 1;
    if (before === '' || found !== 1) faults.push(`its text is in ${path} ${found} times, not once`);
    if (before === after) faults.push('it changes nothing');
    if (equivalent === undefined && killedBy.length === 0) faults.push('no test is named that kills it');
    if (seen.has(`${list}: ${name}`)) faults.push('another of the list has this name');
    seen.add(`${list}: ${name}`);
    return faults.map((fault) => `${list}, “${name}”: ${fault}`);
  });
}
