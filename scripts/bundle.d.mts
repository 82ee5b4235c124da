/** The paths of our sources, on any system. */
export const SOURCE: RegExp;

/** Bundles the service's programs with their packages into a folder. Returns the paths of the bundled files. */
export function bundle(
  folder: string,
  options?: {
    /** Ends of imported paths, each with the file that replaces the import. */
    readonly replacements?: Readonly<Record<string, string>>;
    /** Names of more outputs, each with its source. */
    readonly modules?: Readonly<Record<string, string>>;
    /** Whether to write source maps. */
    readonly maps?: boolean;
  },
): Promise<readonly string[]>;
