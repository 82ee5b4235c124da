import { readFileSync } from 'node:fs';

/** Linux tells other processes' times in hundredths of a second, whatever its own clock. */
const TICK_US = 10_000;
const KIB = 1024;

/** CPU time that a process has used, user and system, all threads, in µs. Resolution: 10 ms. */
export function cpuMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name, in brackets, may hold anything; the third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** CPU time of this process, in µs. */
export function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** Resident memory of a process, in bytes. */
export interface ResidentMemory {
  readonly total: number;
  /** Heap, buffers, stacks. */
  readonly anonymous: number;
  /** The program and its libraries. */
  readonly program: number;
  /** The map of the database's file: the kernel's cache of it, which it takes back when memory is short. */
  readonly database: number;
}

export function residentMemory(pid: number): ResidentMemory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const bytes = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1]) * KIB;
  const database = databaseMap(pid);
  return {
    total: bytes('VmRSS'),
    anonymous: bytes('RssAnon'),
    program: bytes('RssFile') - database,
    database,
  };
}

/** Resident bytes of all maps of LMDB files. */
function databaseMap(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
  return maps
    .filter((map) => /^\S+ \S+ \S+ \S+ \S+ +.*\.mdb$/m.test(map))
    .reduce((sum, map) => sum + Number(/^Rss:\s+(\d+) kB$/m.exec(map)?.[1] ?? 0) * KIB, 0);
}
