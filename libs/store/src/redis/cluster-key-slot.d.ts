declare module 'cluster-key-slot' {
  /** The cluster slot of a key: CRC-16 (XMODEM) of its hash tag, modulo 16,384. */
  export default function calculateSlot(key: string): number;
}
