/** The part of fs-native-extensions used here. The package has no types of its own. */
declare module 'fs-native-extensions' {
  /** Locks the whole file. False if another process has it locked. */
  export function tryLock(fd: number): boolean;
}
