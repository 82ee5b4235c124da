import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Parts from './service-parts.js';
import { serviceProgram } from './service-program.js';

/**
 * The service's parts, as one bundle that Node itself loads once per worker. Jest would load more than 2,000 modules
 * for each test file, which took most of its CPU time. Tests must look parts up (`app.get`) by the classes exported
 * here, because the classes in the source files are different objects.
 */
const file = join(await serviceProgram(), 'parts.js');
const parts = (await importNatively(pathToFileURL(file).href)) as typeof Parts;

export const { createApp, readConfig, shutDown } = parts;
export const {
  ApiKeys,
  Clock,
  HistorySampler,
  InFlight,
  KeysService,
  linger,
  RequestPermit,
  RespMetrics,
  RespServer,
  Store,
  SyncTender,
  turn,
} = parts;

export type RequestPermit = InstanceType<typeof RequestPermit>;
export type Store = Parts.Store;
