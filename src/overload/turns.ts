/** Bytes of bodies whose requests are begun in one turn of the event loop: about 3,000 URLs, so 2 to 5 ms of work. */
const BYTES_A_TURN = 256 * 1024;
/** What a request costs beside its body, in bytes of body that take as long. */
const BYTES_A_REQUEST = 8 * 1024;

interface Waiting {
  readonly cost: number;
  readonly start: () => void;
}

/**
 * Deals requests over the turns of the event loop. All that can be read in one turn would otherwise be worked on in that
 * turn, and nothing else done in it: no connection accepted (Node accepts one a turn), no request refused.
 */
export class Turns {
  private readonly waiting: Waiting[] = [];
  private left = BYTES_A_TURN;

  /** Calls `start` for a request with so many bytes of body: now or in a later turn, first come first served. */
  begin(bytes: number, start: () => void): void {
    const request = { cost: BYTES_A_REQUEST + bytes, start };
    if (this.waiting.length > 0) {
      this.waiting.push(request);
      return;
    }
    if (this.left === BYTES_A_TURN) setImmediate(() => this.next());
    if (this.left > 0) this.run(request);
    else this.waiting.push(request);
  }

  private next(): void {
    this.left = BYTES_A_TURN;
    if (this.waiting.length === 0) return;
    setImmediate(() => this.next());
    while (this.left > 0) {
      const request = this.waiting.shift();
      if (request === undefined) return;
      this.run(request);
    }
  }

  private run({ cost, start }: Waiting): void {
    this.left -= cost;
    start();
  }
}
