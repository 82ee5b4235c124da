import { afterAll, afterEach, beforeAll, describe } from '@jest/globals';
import type { StoreFixture, StoreHarness } from '../support/stores.js';
import { ageingContract } from './ageing.js';
import { atomicAddContract } from './atomic-add.js';
import { cellsContract } from './cells.js';
import { credentialsContract } from './credentials.js';
import { dataLossContract } from './data-loss.js';
import { errorRateContract } from './error-rate.js';
import { growthContract } from './growth.js';
import { hostDropsContract } from './host-drops.js';
import { hostSegmentsContract } from './host-segments.js';
import { hostSettingsContract } from './host-settings.js';
import { hostsContract } from './hosts.js';
import { cameDueContract } from './came-due.js';
import { hostsDueContract } from './hosts-due.js';
import { honestRemovalContract } from './honest-removal.js';
import { importsContract } from './imports.js';
import { inspectionContract } from './inspection.js';
import { leasesContract } from './leases.js';
import { lifeCycleContract } from './life-cycle.js';
import { limitsContract } from './limits.js';
import { listsContract } from './lists.js';
import { namesContract } from './names.js';
import { noFalseNegativesContract } from './no-false-negatives.js';
import { onlyAbsentContract } from './only-absent.js';
import { operationIdsContract } from './operation-ids.js';
import { queueContract } from './queue.js';
import { queueDropsContract } from './queue-drops.js';
import { queueDueEntriesContract } from './queue-due-entries.js';
import { queueExactDropsContract } from './queue-exact-drops.js';
import { queueHostPaceContract } from './queue-host-pace.js';
import { queueHostsContract } from './queue-hosts.js';
import { queueLeasesContract } from './queue-leases.js';
import { queueLogContract } from './queue-log.js';
import { queueOrderContract } from './queue-order.js';
import { queueScheduleContract } from './queue-schedule.js';
import { queuePagesContract } from './queue-pages.js';
import { recordWindowContract } from './record-window.js';
import { refusalsContract } from './refusals.js';
import { queuedRemovalsContract } from './queued-removals.js';
import { restartsContract } from './restarts.js';
import { roomContract } from './room.js';
import { quotaContract } from './quota.js';
import { safeRetriesContract } from './safe-retries.js';
import { saturationContract } from './saturation.js';
import { transferContract } from './transfer.js';
import { transferHostsContract } from './transfer-hosts.js';
import { transferOrderContract } from './transfer-order.js';
import { Subject } from './subject.js';
import { syncsContract } from './syncs.js';
import { syncDropsContract } from './syncs-drops.js';
import { syncGrowthContract } from './syncs-growth.js';
import { syncLifeCycleContract } from './syncs-life-cycle.js';
import { syncsHostsContract } from './syncs-hosts.js';
import { syncQueueContract } from './syncs-queue.js';
import { syncScheduleContract } from './syncs-schedule.js';

/**
 * The port's specification. It contains the rules for every store, with guarantees G1 to G8 by name. It runs unchanged
 * on all stores. `facts` adds tests for one of them.
 */
export function storeContract<H extends StoreHarness>(
  fixture: StoreFixture<H>,
  facts?: (subject: Subject<H>) => void,
): void {
  describe(`${fixture.name} store`, () => {
    const subject = new Subject(fixture);
    beforeAll(() => subject.setUp());
    afterEach(() => subject.testEnded());
    afterAll(() => subject.tearDown());

    lifeCycleContract(subject);
    listsContract(subject);
    namesContract(subject);
    quotaContract(subject);
    cellsContract(subject);
    noFalseNegativesContract(subject);
    errorRateContract(subject);
    hostsContract(subject);
    growthContract(subject);
    atomicAddContract(subject);
    onlyAbsentContract(subject);
    honestRemovalContract(subject);
    dataLossContract(subject);
    saturationContract(subject);
    restartsContract(subject);
    limitsContract(subject);
    roomContract(subject);
    recordWindowContract(subject);
    refusalsContract(subject);
    queuedRemovalsContract(subject);
    transferContract(subject);
    importsContract(subject);
    syncsContract(subject);
    syncLifeCycleContract(subject);
    syncGrowthContract(subject);
    syncQueueContract(subject);
    syncScheduleContract(subject);
    inspectionContract(subject);
    operationIdsContract(subject);
    credentialsContract(subject);
    if (facts) describe('and of this store only', () => facts(subject));
    // These come last, because they move the clock. Before the first move, Redis runs the scripts unmodified.
    safeRetriesContract(subject);
    queueContract(subject);
    queueLogContract(subject);
    queueLeasesContract(subject);
    leasesContract(subject);
    queueOrderContract(subject);
    queueScheduleContract(subject);
    transferOrderContract(subject);
    queuePagesContract(subject);
    queueDueEntriesContract(subject);
    queueDropsContract(subject);
    queueExactDropsContract(subject);
    queueHostsContract(subject);
    queueHostPaceContract(subject);
    hostSegmentsContract(subject);
    hostSettingsContract(subject);
    hostDropsContract(subject);
    cameDueContract(subject);
    hostsDueContract(subject);
    syncsHostsContract(subject);
    syncDropsContract(subject);
    transferHostsContract(subject);
    ageingContract(subject);
  });
}
