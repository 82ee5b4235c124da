import { openSync, readSync, renameSync, writeFileSync } from 'node:fs';

/** Environment variable with the file for the result. */
const FILE_VARIABLE = 'BENCH_TURN_FILE';
const EVERY_MS = 2;

/**
 * Loaded into a process before its program (`node --import`). At SIGUSR2 it writes the longest turn of the event loop
 * since the last signal, in ms of the main thread's CPU time. A busy machine makes turns longer in wall time, but not
 * in CPU time.
 */
const file = process.env[FILE_VARIABLE];
if (file !== undefined) {
  // Linux reports each thread's CPU time, in ns.
  const times = openSync('/proc/thread-self/schedstat', 'r');
  const figures = Buffer.alloc(64);
  const cpuMs = (): number =>
    Number.parseInt(figures.toString('latin1', 0, readSync(times, figures, 0, figures.length, 0))) / 1e6;
  let last = cpuMs();
  let longest = 0;
  const look = (): void => {
    const now = cpuMs();
    longest = Math.max(longest, now - last);
    last = now;
  };
  setInterval(look, EVERY_MS).unref();
  process.on('SIGUSR2', () => {
    look();
    writeFileSync(`${file}.new`, String(longest));
    renameSync(`${file}.new`, file);
    longest = 0;
  });
}
