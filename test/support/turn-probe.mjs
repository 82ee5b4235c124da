/**
 * Loaded into a service before anything else (`--import`). At SIGUSR2 it writes to stderr how long the longest turn of
 * the event loop since the last signal was, in ms of the main thread's CPU time. A busy machine makes turns longer by
 * the clock, but not by this measure.
 */
import { openSync, readSync } from 'node:fs';

const EVERY_MS = 2;
const FIGURES = Buffer.alloc(64);

/** Linux gives the CPU time of each thread, in ns. Elsewhere there is only that of the process. */
function cpuClock() {
  try {
    const file = openSync('/proc/thread-self/schedstat', 'r');
    return () =>
      Number.parseInt(FIGURES.toString('latin1', 0, readSync(file, FIGURES, 0, FIGURES.length, 0))) / 1e6;
  } catch {
    return () => process.cpuUsage().user / 1e3;
  }
}

const cpuMs = cpuClock();
let last = cpuMs();
let longest = 0;

function look() {
  const now = cpuMs();
  longest = Math.max(longest, now - last);
  last = now;
}

setInterval(look, EVERY_MS).unref();
process.on('SIGUSR2', () => {
  look();
  process.stderr.write(`longest turn ${longest.toFixed(1)} ms\n`);
  longest = 0;
});
