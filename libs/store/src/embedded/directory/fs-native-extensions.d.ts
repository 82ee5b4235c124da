/** The part of fs-native-extensions used here. The package has no types of its own. */
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on the whole open file, held until the file is closed. False if another holder has one. */
  export function tryLock(fd: number): boolean;
}
