import type { TestApp } from '../support/app.js';

const SETS = '/v1/visited-sets';

/** Exports a visited set. */
export async function exported({ url }: TestApp, name: string): Promise<ArrayBuffer> {
  const answer = await fetch(`${url}${SETS}/${name}/export`);
  if (answer.status !== 200) throw new Error(`the export was answered with ${answer.status}`);
  return answer.arrayBuffer();
}

/** Imports an export under another name. */
export function importedAs({ url }: TestApp, name: string, file: ArrayBuffer): Promise<Response> {
  const headers = { 'content-type': 'application/octet-stream' };
  return fetch(`${url}${SETS}/import?name=${name}`, { method: 'POST', headers, body: file });
}
