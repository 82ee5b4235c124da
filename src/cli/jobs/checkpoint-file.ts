import {
  closeSync,
  constants,
  fstatSync,
  fsyncSync,
  openSync,
  readSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { crc32 } from 'node:zlib';
import { makePrivateDirectory } from '#store';
import { show } from '../../errors/show.js';
import { reasonOf, UsageError } from '../ending.js';

const SIGNATURE = 'unseen-checkpoint-1';
/** Size of a slot. Writes alternate between two slots, so at least one of them is complete. */
const SLOT_BYTES = 4_096;
const OPEN_ATTEMPTS = 10;

interface Slot {
  readonly number: number;
  readonly state: unknown;
}

/**
 * A small file owned by one process, through a kernel lock that ends with the process. Keeps the last state that was
 * written completely.
 */
export class CheckpointFile {
  private constructor(
    private readonly path: string,
    private readonly fd: number,
    private number: number,
    /** The state found on opening. Undefined in a new file. */
    readonly found: unknown,
  ) {}

  /** Throws UsageError if another process owns the file, or if the file is not a checkpoint, which stays unchanged. */
  static async open(path: string): Promise<CheckpointFile> {
    // Loading its binary takes a sixth of the CPU time of a command that needs no lock.
    const { tryLock } = await import('fs-native-extensions');
    for (let attempt = 1; attempt <= OPEN_ATTEMPTS; attempt++) {
      const fd = opened(path);
      try {
        if (!tryLock(fd))
          throw new UsageError(
            `another process is running this job and has locked ${show(path)}; wait until it ends`,
          );
        // The lock's previous owner may have finished its job and removed the file.
        if (isStill(path, fd)) {
          const last = lastOf(path, fd);
          return new CheckpointFile(path, fd, last?.number ?? 0, last?.state);
        }
      } catch (error) {
        closeSync(fd);
        throw error;
      }
      closeSync(fd);
    }
    throw new UsageError(`other processes keep creating and removing ${show(path)}; retry`);
  }

  /** Replaces the state. If `durable`, the state also survives a crash of the machine. */
  write(state: unknown, durable = false): void {
    this.number++;
    const body = JSON.stringify({ number: this.number, state });
    const text = `${SIGNATURE} ${checksum(body)} ${body}`;
    const bytes = Buffer.alloc(SLOT_BYTES, ' ');
    if (bytes.write(text) < Buffer.byteLength(text))
      throw new RangeError('the state does not fit into the file');
    bytes.write('\n', SLOT_BYTES - 1);
    try {
      writeSync(this.fd, bytes, 0, SLOT_BYTES, (this.number % 2) * SLOT_BYTES);
      if (durable) fsyncSync(this.fd);
    } catch (error) {
      throw new UsageError(`cannot write the checkpoint ${show(this.path)}: ${reasonOf(error)}`);
    }
  }

  remove(): void {
    unlinkSync(this.path);
    this.close();
  }

  close(): void {
    closeSync(this.fd);
  }
}

function opened(path: string): number {
  try {
    makePrivateDirectory(dirname(path));
    return openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NONBLOCK, 0o600);
  } catch (error) {
    throw new UsageError(`cannot keep a checkpoint in ${show(path)}: ${reasonOf(error)}`);
  }
}

function isStill(path: string, fd: number): boolean {
  const own = fstatSync(fd);
  const there = statSync(path, { throwIfNoEntry: false });
  return there !== undefined && there.ino === own.ino && there.dev === own.dev;
}

function lastOf(path: string, fd: number): Slot | undefined {
  const { size } = fstatSync(fd);
  const stat = fstatSync(fd);
  if (!stat.isFile() || size > 2 * SLOT_BYTES) throw notOurs(path);
  const bytes = Buffer.alloc(2 * SLOT_BYTES);
  const read = readSync(fd, bytes, 0, bytes.length, 0);
  const slots = [0, 1].map((i) => slotIn(bytes.subarray(i * SLOT_BYTES, (i + 1) * SLOT_BYTES)));
  const whole = slots.filter((slot) => slot !== undefined);
  if (whole.length === 0 && bytes.subarray(0, read).some((byte) => byte !== 0)) throw notOurs(path);
  return whole.sort((a, b) => b.number - a.number)[0];
}

function notOurs(path: string): UsageError {
  return new UsageError(`${show(path)} is not a checkpoint, or is damaged: name another file, or remove it`);
}

function slotIn(bytes: Buffer): Slot | undefined {
  const text = bytes.toString().trim();
  const [signature, sum, ...rest] = text.split(' ');
  const body = rest.join(' ');
  if (signature !== SIGNATURE || sum !== checksum(body)) return undefined;
  return JSON.parse(body) as Slot;
}

function checksum(body: string): string {
  return crc32(body).toString(16);
}
