import type { Call, Subject } from './history.js';
import type { Step } from './queue-trail.js';

/** An answer that no correct service can give. */
export interface Violation {
  /** The broken guarantee, as far as it shows. */
  readonly what: string;
  /** The item with this history, and the calls that show the violation. */
  readonly item?: { readonly subject: Subject; readonly name: string; readonly calls: readonly Call[] };
  /** The requests on the queue entry that shows it. */
  readonly trail?: readonly Step[];
}
