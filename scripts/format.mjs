import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { format as formatText } from 'oxfmt';

const { ignorePatterns: _, ...OPTIONS } = JSON.parse(
  readFileSync(join(import.meta.dirname, '../.oxfmtrc.json'), 'utf8'),
);

/**
 * Formats a generated file's text like `npm run format`.
 *
 * @param {string} file
 * @param {string} text
 */
export async function format(file, text) {
  const { code, errors } = await formatText(file, text, OPTIONS);
  if (errors.length > 0) throw new Error(`${file} cannot be formatted: ${errors[0].message}`);
  return code;
}
