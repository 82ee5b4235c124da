/** The part of fs-native-extensions used here; the package brings no types. */
declare module 'fs-native-extensions' {
  /** Takes an exclusive lock on the whole open file, held until it is closed; false if another holds one. */
  export function tryLock(fd: number): boolean;
}
