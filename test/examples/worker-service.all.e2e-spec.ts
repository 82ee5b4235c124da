import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { PYTHON_PROGRAM } from './worker-programs.js';

const FOLDER = 'examples/worker';
const ACK = `
import sys
sys.path.insert(0, "${FOLDER}/python")
from service import Service
print(Service(sys.argv[1], "crawl", None, print).ack(["a lease"]))
`;

const [python] = PYTHON_PROGRAM.command(FOLDER);
const inPython = PYTHON_PROGRAM.why === '' ? it : it.skip;

inPython.each(['\u00b2', 'soon', ''])(
  `the worker in Python repeats a call after the invalid Retry-After %j${PYTHON_PROGRAM.why}`,
  async (seconds) => {
    let calls = 0;
    const server = createServer((_, response) => {
      if (++calls > 1) response.end('{"results":["acked"]}');
      else response.writeHead(503, { 'retry-after': seconds }).end('{}');
    }).listen(0, '127.0.0.1');
    try {
      await once(server, 'listening');
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const { stdout } = await promisify(execFile)(python, ['-B', '-c', ACK, url]);
      expect([stdout, calls]).toEqual(["['acked']\n", 2]);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  },
);
