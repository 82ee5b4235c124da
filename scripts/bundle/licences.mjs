import { readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** The packages in a bundle, in CycloneDX's format, for `scripts/audit.mjs` and for scanners of images. */
export const PACKAGES = 'packages.cdx.json';
const LICENCES = 'LICENSES.txt';

/** `…/node_modules/NAME`, at the start of a path inside the package. */
const PACKAGE = /^.*\bnode_modules\/(?:@[^/]+\/)?[^/]+/;
const LICENCE_FILE = /^(?:licen[cs]e|copying|notice)/i;

/** Writes the licences and the names of the packages that the bundled files belong to. */
export async function writeLicences(folder, files) {
  const folders = new Set(files.flatMap((file) => PACKAGE.exec(file) ?? []));
  // node_modules may contain the same version twice.
  const byTitle = new Map([...folders].map(described).map((found) => [found.title, found]));
  const packages = [...byTitle.values()].sort((a, b) => (a.title < b.title ? -1 : 1));
  await writeFile(join(folder, LICENCES), packages.map(chapter).join('\n'));
  await writeFile(join(folder, PACKAGES), JSON.stringify(billOf(packages), undefined, 2));
}

function described(folder) {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { name, version, license } = manifest;
  return { name, version, license, title: `${name} ${version}`, text: licenceText(folder, manifest) };
}

function licenceText(folder, { name, license, author }) {
  const files = readdirSync(folder).filter((file) => LICENCE_FILE.test(file));
  if (files.length > 0)
    return files
      .sort()
      .map((file) => readFileSync(join(folder, file), 'utf8'))
      .join('\n');
  if (license !== 'MIT') throw new Error(`${name} is bundled, but its licence has no text`);
  return `The MIT License\n\nCopyright (c) ${author?.name ?? author ?? `the authors of ${name}`}\n\n${MIT}`;
}

const RULE = '-'.repeat(80);
const chapter = ({ title, license, text }) => `${RULE}\n${title} (${license})\n${RULE}\n\n${text.trim()}\n`;

const billOf = (packages) => ({
  bomFormat: 'CycloneDX',
  specVersion: '1.5',
  version: 1,
  components: packages.map(({ name, version, license }) => ({
    type: 'library',
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    licenses: [{ expression: license }],
  })),
});

const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`;
