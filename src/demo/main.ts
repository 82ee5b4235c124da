import { fileURLToPath } from 'node:url';
import { UnreachableError, UnseenClient, UnseenError } from '#client';
import { readCommandLine, USAGE, type CommandLine } from './command-line.js';
import { compare } from './comparison.js';
import { DemoError } from './demo-error.js';
import { OwnService } from './own-service.js';
import { report } from './report.js';
import { runSyncDemo } from './sync-demo.js';
import { readUrlFile } from './url-file.js';
import { readUrlList } from './url-list.js';
import { VisitedSet } from './visited-set.js';

/** The repository and the image include the sample. This file runs from dist/service/demo. */
const SAMPLE = fileURLToPath(new URL('../../../test/data/debian-homepages-sample.txt', import.meta.url));
const CLEAN_UP_MS = 10_000;
const INTERRUPTED = 130;

const interruption = new AbortController();
for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(name, () => interruption.abort(new DemoError('interrupted')));
}

try {
  const commandLine = readCommandLine(process.argv.slice(2));
  if (commandLine.help) process.stdout.write(USAGE);
  else if (commandLine.sync) await runSync(commandLine, commandLine.sync, interruption.signal);
  else await run(commandLine, interruption.signal);
} catch (error) {
  if (!(error instanceof DemoError || error instanceof UnseenError)) throw error;
  const hint = error instanceof UnreachableError ? '; start the service with "npm start"' : '';
  // Clears a partly drawn progress bar first.
  process.stderr.write(`${process.stderr.isTTY ? '\r\x1b[K' : ''}demo: ${error.message}${hint}\n`);
  process.exitCode = interruption.signal.aborted ? INTERRUPTED : 1;
}

async function run({ file, url, errorRate }: CommandLine, signal: AbortSignal): Promise<void> {
  const list = await readUrlList(file ?? SAMPLE, process.stderr, signal);
  // The demo stops only a service that it has started.
  const service = url ? { url, stop: () => Promise.resolve() } : await OwnService.start(signal);
  try {
    const parameters = { capacity: list.distinct, errorRate };
    const visited = await VisitedSet.create(
      new UnseenClient({ url: service.url }),
      parameters,
      process.stderr,
      signal,
    );
    try {
      const comparison = await compare(list, visited);
      const subject = { title: file ?? 'the shipped sample', distinct: list.distinct, errorRate };
      process.stdout.write(report({ ...comparison, ...subject, memoryBytes: visited.memoryBytes }));
    } finally {
      await visited.drop(AbortSignal.timeout(CLEAN_UP_MS)).catch((error: unknown) => {
        process.stderr.write(`demo: its visited set may not have been deleted: ${String(error)}\n`);
      });
    }
  } finally {
    await service.stop();
  }
}

/**
 * Syncs one input list to another. Reads both before it starts anything. Fails if the sync lost a URL from the new
 * input list.
 */
async function runSync(
  { url, errorRate }: CommandLine,
  sync: { readonly old: string; readonly now: string },
  signal: AbortSignal,
): Promise<void> {
  const old = await readUrlFile(sync.old, process.stderr, signal);
  const now = await readUrlFile(sync.now, process.stderr, signal);
  const service = url ? { url, stop: () => Promise.resolve() } : await OwnService.start(signal);
  try {
    const { report: text, lost } = await runSyncDemo(
      { old, now, errorRate },
      service.url,
      process.stderr,
      signal,
    );
    process.stdout.write(text);
    if (lost > 0) process.exitCode = 1;
  } finally {
    await service.stop();
  }
}
