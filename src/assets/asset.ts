import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';

/** A file's bytes, and a tag that changes with them. */
export interface AssetContent {
  readonly bytes: Buffer;
  readonly tag: string;
}

/** A file, read on first use and then kept in memory. All clients share one copy, even slow ones. */
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
