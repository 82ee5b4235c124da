/** The part of fs-native-extensions that is used here. The package has no types. */
declare module 'fs-native-extensions' {
  /**
   * Takes an exclusive lock on the whole open file, held until the file is closed. Returns false if another holder has
   * it.
   */
  export function tryLock(fd: number): boolean;
}
