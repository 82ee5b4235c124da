/** Where bytes go that the browser is to keep as a file. */
export interface Target {
  readonly write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Everything has been written. */
  readonly close: () => Promise<void>;
  /** Nothing is to be left of it. */
  readonly abort: () => Promise<void>;
}

/** Of the File System Access API, which TypeScript does not know. */
type Picker = (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>;

/** Parts of a Blob are handed to the browser at this size: it keeps them outside the heap, large ones on the disk. */
const PART = 8 * 2 ** 20;

/** Whether this browser can write to a file as bytes come, whatever their number. */
export function canStream(): boolean {
  return picker() !== undefined;
}

/** A file that the person chooses: it grows as bytes come. Undefined: they chose none. Only in answer to a click. */
export async function chosenFile(suggestedName: string): Promise<Target | undefined> {
  const pick = picker();
  if (!pick) throw new Error('this browser does not let pages write to files');
  try {
    const stream = await (await pick({ suggestedName })).createWritable();
    return {
      write: (bytes) => stream.write(bytes),
      close: () => stream.close(),
      abort: () => stream.abort(),
    };
  } catch (error) {
    if ((error as Error).name === 'AbortError') return undefined;
    throw error;
  }
}

/** A download: the browser has all of it before it saves it. */
export function download(name: string): Target {
  const parts: Blob[] = [];
  let open: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  const fold = (): void => {
    parts.push(new Blob(open));
    [open, size] = [[], 0];
  };
  return {
    write: async (bytes) => {
      open.push(bytes);
      size += bytes.length;
      if (size >= PART) fold();
    },
    close: async () => {
      fold();
      saveAs(name, new Blob(parts));
    },
    abort: async () => {
      parts.length = 0;
      open = [];
    },
  };
}

/** The browser reads what is behind the address in its own time. */
const KEPT_MS = 60_000;

/** Gives somebody what is there already. */
export function saveAs(name: string, blob: Blob): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

function picker(): Picker | undefined {
  return (globalThis as { showSaveFilePicker?: Picker }).showSaveFilePicker?.bind(globalThis);
}
