/** The part of the WebAssembly interface that the kernel uses, which @types/node 20 lacks. */
declare namespace WebAssembly {
  class Memory {
    constructor(descriptor: { readonly initial: number });
    readonly buffer: ArrayBuffer;
    /** Adds `pages` pages of 64 KiB. Throws RangeError if there is no memory. */
    grow(pages: number): number;
  }
  interface Module {
    readonly [Symbol.toStringTag]: string;
  }
  const Module: new (binary: Uint8Array) => Module;
  class Instance {
    constructor(module: Module, imports: Readonly<Record<string, Readonly<Record<string, Memory>>>>);
    readonly exports: object;
  }
  interface Global {
    readonly value: number;
  }
}
