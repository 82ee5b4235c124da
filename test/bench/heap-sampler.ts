import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { join } from 'node:path';

/** Environment variable with the folder for the profile. */
const DIR_VARIABLE = 'BENCH_HEAP_PROFILE_DIR';

/** Average number of bytes between two samples. */
const INTERVAL_BYTES = 32_768;

/**
 * Loaded into a process before its program (`node --import`). When the process ends, it writes a profile in the format
 * of Chrome's developer tools. The profile has all allocations, including those that the garbage collector has freed.
 * Node's own --heap-prof keeps only objects that are alive at the end.
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
