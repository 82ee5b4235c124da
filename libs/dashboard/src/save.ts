/** Receives bytes that the browser saves as a file. */
export interface Target {
  readonly write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Everything has been written. */
  readonly close: () => Promise<void>;
  /** Discards the file. */
  readonly abort: () => Promise<void>;
}

/** From the File System Access API, which TypeScript doesn't declare. */
type Picker = (options: { readonly suggestedName: string }) => Promise<FileSystemFileHandle>;

/** Size of the Blobs to collect. The browser keeps them outside the heap, and large ones on disk. */
const PART = 8 * 2 ** 20;

/** True if this browser can write a file of any size as a stream. */
export function canStream(): boolean {
  return picker() !== undefined;
}

/**
 * A file that the user chooses, written as bytes arrive, or undefined if the user cancels. Call it only in a click
 * handler.
 */
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

/** A download. The browser collects all bytes before it saves them. */
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

/** How long to keep the object URL, because the browser reads it some time after the click. */
const KEPT_MS = 60_000;

/** Saves a Blob as a download. */
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
