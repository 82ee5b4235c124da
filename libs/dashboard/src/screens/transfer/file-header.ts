import type { Kind } from '../../sets.js';

/** An export file's header. See docs/export-format.md. */
export interface FileHeader {
  readonly name: string;
  readonly kind: Kind;
  readonly capacity: number;
  readonly errorRate: number;
  /** In ms since the epoch. */
  readonly exportedAt: number;
}

/** "UNSEEN" among bytes that converting line breaks would destroy. */
const MAGIC = [0x89, 0x55, 0x4e, 0x53, 0x45, 0x45, 0x4e, 0x0d, 0x0a, 0x1a, 0x0a];
const VERSION = 2;
/** Where the first frame's type, its payload's length, and its payload begin. */
const [TYPE_AT, LENGTH_AT, PAYLOAD_AT] = [12, 13, 17];
const TYPE = 0x48;
const MOST_BYTES = 64 * 2 ** 10;

const KINDS: ReadonlyMap<unknown, Kind> = new Map<unknown, Kind>([
  ['visited-set', 'sets'],
  ['filter', 'filters'],
]);
/** The latest time that a Date can represent. */
const MOST_MS = 8.64e15;

/** Reads the header. The service checks the rest of the file. Throws an Error that names the fault. */
export async function headerOf(file: Blob): Promise<FileHeader> {
  const start = new Uint8Array(await file.slice(0, PAYLOAD_AT).arrayBuffer());
  if (!MAGIC.every((byte, i) => start[i] === byte))
    throw new Error('this is not an export of Unseen; choose a file that an export created');
  const version = start[MAGIC.length];
  if (version === undefined || version < 1 || version > VERSION)
    throw new Error(
      `this export has format version ${version}, and this dashboard reads versions 1 to ${VERSION}; export it again with this version of the service`,
    );
  if (start.length < PAYLOAD_AT || start[TYPE_AT] !== TYPE) throw damaged();
  const length = new DataView(start.buffer).getUint32(LENGTH_AT);
  if (length > MOST_BYTES) throw damaged();
  const text = await file.slice(PAYLOAD_AT, PAYLOAD_AT + length).text();
  let header: unknown;
  try {
    header = JSON.parse(text);
  } catch (error) {
    throw damaged(error);
  }
  const { name, kind, capacity, errorRate, exportedAt } = (header ?? {}) as Readonly<Record<string, unknown>>;
  const known = KINDS.get(kind);
  if (typeof name !== 'string' || known === undefined) throw damaged();
  if (!isNumber(capacity) || !isNumber(errorRate) || !isNumber(exportedAt)) throw damaged();
  return { name, kind: known, capacity, errorRate, exportedAt };
}

/** True if the page can show the value as a number and as a time. */
function isNumber(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= MOST_MS;
}

function damaged(cause?: unknown): Error {
  return new Error('this export is damaged; export it again', { cause });
}
