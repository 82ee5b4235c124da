import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

/** Names the folder that the profile goes to. */
const DIR_VARIABLE = 'BENCH_HEAP_PROFILE_DIR';

/** On average a sample is taken every so many bytes. */
const INTERVAL_BYTES = 32_768;

/**
 * Loaded into a process before its program (`node --import`): when it ends, writes a profile of all that it has allocated,
 * what the garbage collector has taken back included, as Chrome's developer tools read it. Node's own --heap-prof
 * keeps only what is alive in the end.
 */
const dir = process.env[DIR_VARIABLE];
if (dir !== undefined) {
  const session = new Session();
  session.connect();
  session.post('HeapProfiler.startSampling', {
    samplingInterval: INTERVAL_BYTES,
    includeObjectsCollectedByMajorGC: true,
    includeObjectsCollectedByMinorGC: true,
  });
  process.once('exit', () => {
    session.post('HeapProfiler.stopSampling', (error, answer) => {
      if (error) throw error;
      writeFileSync(join(dir, `Heap.${process.pid}.heapprofile`), JSON.stringify(answer.profile));
    });
  });
}
