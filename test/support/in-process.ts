import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type * as Parts from './service-parts.js';
import { serviceProgram } from './service-program.js';

/**
 * The parts of the service, loaded as one bundle by Node itself, once for each worker. Jest would load more than 2,000
 * modules anew for each test file, which took most of its CPU time. A test gets a part from a service (`app.get`) by the
 * class from here, because the class of the source file is another one.
 */
const file = join(await serviceProgram(), 'test', 'support', 'service-parts.js');
const parts = (await importNatively(pathToFileURL(file).href)) as typeof Parts;

export const { createApp, readConfig, shutDown } = parts;
export const {
  ApiKeys,
  Clock,
  HistorySampler,
  InFlight,
  KeysService,
  RequestPermit,
  Store,
  SyncTender,
  turn,
} = parts;

export type RequestPermit = InstanceType<typeof RequestPermit>;
export type Store = Parts.Store;
