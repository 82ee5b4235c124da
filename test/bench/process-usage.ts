import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cpus, type CpuInfo } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

/** Linux reports the times of whole processes in hundredths of a second, whatever the kernel's own clock rate. */
const TICK_US = 10_000;
const KIB = 1024;
const SAMPLE_MS = 500;
/** State of a socket in /proc/net/tcp. */
const LISTENING = '0A';

const SCHEDULER_TELLS = existsSync('/proc/self/schedstat');

/**
 * The CPU time that a process has used, user and system, all threads, in µs. If the kernel exposes its scheduler's
 * counts, as nearly all do, it is exact but leaves out threads that have ended. Elsewhere it has steps of 10 ms.
 */
export function cpuMicros(pid: number): number {
  return SCHEDULER_TELLS ? threadMicros(pid) : tickMicros(pid);
}

/** No threads of a service end while it is measured, because the pools of Node and LMDB keep theirs. */
function threadMicros(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const nanos = threads.map((id) =>
    Number(readFileSync(`/proc/${pid}/task/${id}/schedstat`, 'utf8').split(' ')[0]),
  );
  return nanos.reduce((sum, each) => sum + each, 0) / 1_000;
}

function tickMicros(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // The command's name, in parentheses, may contain anything. The third field follows it.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

/** The share of the CPU, 0 to 1, that other processes use while this process sleeps. */
export async function busyShare(): Promise<number> {
  const before = cpus();
  await sleep(SAMPLE_MS);
  return shareBetween(before, cpus());
}

type Core = Pick<CpuInfo, 'times'>;

/** The share of all cores' time in which they were not idle. */
export function shareBetween(before: readonly Core[], after: readonly Core[]): number {
  const sum = (cores: readonly Core[], idleOnly: boolean): number =>
    cores
      .flatMap(({ times }) => (idleOnly ? [times.idle] : Object.values(times)))
      .reduce((total, each) => total + each, 0);
  const idle = sum(after, true) - sum(before, true);
  return 1 - idle / (sum(after, false) - sum(before, false));
}

/** CPU time of this process, in µs. */
export function ownCpuMicros(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

/** True if a process listens on a TCP port over IPv4. */
export function listensOn(pid: number, port: number): boolean {
  const local = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const inodes = readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, address, , state]) => address?.endsWith(local) === true && state === LISTENING)
    .map((fields) => `socket:[${fields[9]}]`);
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((fd) => {
    try {
      return inodes.includes(readlinkSync(`${folder}/${fd}`));
    } catch {
      return false; // The file was closed in the meantime.
    }
  });
}

/** Resident memory of a process, in bytes. */
export interface ResidentMemory {
  readonly total: number;
  /** Heap, buffers and stacks. */
  readonly anonymous: number;
  /** The program and its libraries. */
  readonly program: number;
  /** The database file's memory map: the kernel's cache of it, which the kernel frees when memory is short. */
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

/** Resident bytes of all memory maps of LMDB files. */
function databaseMap(pid: number): number {
  const maps = readFileSync(`/proc/${pid}/smaps`, 'utf8').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/);
  return maps
    .filter((map) => /^\S+ \S+ \S+ \S+ \S+ +.*\.mdb$/m.test(map))
    .reduce((sum, map) => sum + Number(/^Rss:\s+(\d+) kB$/m.exec(map)?.[1] ?? 0) * KIB, 0);
}
