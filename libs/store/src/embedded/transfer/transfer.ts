import type { Filter, FilterSpec, Operation, Part, Quota, Transfer } from '../../port/index.js';
import { assertPerHost } from '../../refusals.js';
import { exportParts } from '../../transfer/export-parts.js';
import type { Engine } from '../engine/engine.js';
import { EmbeddedSource } from './export-source.js';
import { importParts } from './import.js';

/** See the port for each method's guarantees. */
export class EmbeddedTransfer implements Transfer {
  constructor(private readonly engine: Engine) {}

  export(filter: Filter): AsyncGenerator<Part, void, undefined> {
    return exportParts(filter, new EmbeddedSource(this.engine, filter));
  }

  async import(
    spec: FilterSpec,
    parts: AsyncIterable<Part>,
    operation: Operation,
    quota?: Quota,
  ): Promise<Filter> {
    assertPerHost(spec);
    return importParts(this.engine, spec, parts, operation, quota);
  }
}
