/** The parts of the service that tests use in their own process, bundled as one file. See in-process.ts. */
export { createApp } from '../../src/app.setup.js';
export { InFlight } from '../../src/admission/in-flight.js';
export { RequestPermit } from '../../src/admission/request-permit.js';
export { ApiKeys } from '../../src/auth/api-keys.js';
export { KeysService } from '../../src/auth/keys.service.js';
export { readConfig } from '../../src/config/config.js';
export { turn } from '../../src/event-loop/turn.js';
export { HistorySampler } from '../../src/history/history-sampler.js';
export { linger } from '../../src/http/discard.js';
export { shutDown } from '../../src/http/shutdown.js';
export { RespMetrics } from '../../src/resp/resp-metrics.js';
export { RespServer } from '../../src/resp/resp-server.js';
export { Clock } from '../../src/store/clock.token.js';
export { Store } from '../../src/store/store.token.js';
export { SyncTender } from '../../src/syncs/sync-tender.js';
