import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** The bytes of a file, and the tag that changes with them. */
export interface AssetContent {
  readonly bytes: Buffer;
  readonly tag: string;
}

/**
 * A file that is read when it is first asked for, and then kept. However many slow clients read it, there is one copy.
 */
export class Asset {
  private content: Promise<AssetContent> | undefined;

  constructor(private readonly path: string) {}

  read(): Promise<AssetContent> {
    this.content ??= this.load();
    return this.content;
  }

  private async load(): Promise<AssetContent> {
    try {
      const bytes = await readFile(this.path);
      return { bytes, tag: `"${createHash('sha256').update(bytes).digest('base64url')}"` };
    } catch (error) {
      this.content = undefined;
      throw error;
    }
  }
}
