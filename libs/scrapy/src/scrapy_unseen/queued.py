"""``UNSEEN_VISITED_WHEN = "queued"``: the set's queue keeps a crawl's remaining pages for the next one."""

import hashlib
import logging
from typing import Any, Callable, Dict, List, Optional, Sequence, Set

from scrapy import Spider, signals
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Request
from twisted.internet import defer
from twisted.python.failure import Failure

from .again import again_after_of
from .discovery import is_discovery
from .leases import Leases
from .loop import call_later, close_spider, in_thread, slot_of
from .kept_keys import Key, is_redirected, keep, lease_of
from .passed import Passed
from .payload import OtherSpider, payload_of, request_of
from .scheduler import Asked, Scheduler, log_bug, told

logger = logging.getLogger(__name__)

OTHER_SPIDER = "unseen_other_spider"
#: Maximum number of pages that a crawl leases at a time, so that other crawls get some, and how few must remain before
#: it leases more.
MOST_LEASED, FEW = 64, 32
#: Pause between two checks of a queue whose pages other crawls have leased, and between two calls during an outage.
POLL_SECONDS = 1.0
#: Delay before the next run or another crawl gets a page that this crawl has not finished.
FAILED_SECONDS = 60
#: Delay before this crawl gets back an entry that it can't read or has tried already. There may be thousands of them.
PUT_OFF_SECONDS = 300
FAILED = "its last retry failed"
HELD = "the service did not accept its links, or its lease ended"


class QueuedScheduler(Scheduler):
    """
    Visits new pages and adds them to the queue of the set in one step. Crawls lease pages from the queue. A crawl
    acknowledges a page when the page and its retries and redirects were handled, and all its links are in the queue.
    """

    _GIVEN_BACK = (", and the queue cannot store them", "")

    def open(self, spider: Spider) -> "defer.Deferred[None]":
        self._leases = Leases()
        #: URLs that this run has leased.
        self._taken = Passed()
        #: URLs that this run has leased and whose last retry has failed.
        self._failed = Passed()
        #: URLs of finished pages whose leases had ended before they were acknowledged.
        self._done_late = Passed()
        #: URLs whose leases had ended, each with its new lease.
        self._again: Dict[bytes, str] = {}
        #: The leases whose pages this run fetches, with their URLs.
        self._url_of: Dict[str, bytes] = {}
        #: True if the crawl has ended with no work left.
        self._finished = False
        #: Requests of leases that the engine is processing.
        self._fetching: Set[Request] = set()
        #: True if the queue may have pages, because pages were queued since the last lease, or other crawls had
        #: leases.
        self._may_have_more = True
        #: True if a page was seen since the last lease, because another crawl may have queued it in between.
        self._seen_since = False
        #: True if a lease is in progress or scheduled.
        self._filling = False
        #: True if any other call was in progress since the crawl last read the queue's counts.
        self._overlapped = False
        self._lease_failed = self._extend_failed = False
        self._timers: Dict[str, Any] = {}
        self._told_unqueued = False
        opened = super().open(spider)
        self.crawler.signals.connect(self._idle_once, signal=signals.spider_idle)
        self._extend_later()
        return opened

    def has_pending_requests(self) -> bool:
        # Pages in progress may still add links.
        return super().has_pending_requests() or self._may_have_more and not (self._lease_failed or self._ending)

    def enqueue_request(self, request: Request) -> bool:
        lease = lease_of(request)
        if lease is not None and lease[0] in self._leases:
            self._leases.attach(request, lease[0])
        elif not self._over and self._is_unasked_find(request):
            self._count_unqueued(request)
        taken = super().enqueue_request(request)
        if not taken:
            self._let_go(request)
        return taken

    def _is_unasked_find(self, request: Request) -> bool:
        """
        Whether the request comes from a page and is never checked. Each run creates its own start requests, and a retry
        counts once.
        """
        unasked = request.dont_filter or is_discovery(request, self.spider)
        return unasked and request.meta.get("depth", 0) > 0 and "retry_times" not in request.meta

    def next_request(self) -> Optional[Request]:
        self._settle()
        request = super().next_request()
        if request is not None and self._leases.of(request) is not None:
            self._fetching.add(request)
        if len(self) < FEW:
            self._fill()
        return request

    def forget_failed(self, request: Request) -> None:
        """
        Returns a page to the queue for a later run; the page stays visited. Forgets pages that did not come from the
        queue.
        """
        lease = self._leases.of(request)
        if lease is None:
            super().forget_failed(request)
            return
        self._leases.fail(lease)
        url = self._url_of.get(lease)
        if url is not None:
            self._failed.add(url)
        self.stats.inc_value("unseen/failed", spider=self.spider)

    def postpone(self, request: Request, seconds: int) -> bool:
        lease = self._leases.of(request)
        if lease is None:
            return False
        self._leases.postpone(lease, seconds)
        url = self._url_of.get(lease)
        if url is not None:
            # Lets this run fetch the page when it returns.
            self._taken.drop(url)
        self.stats.inc_value("unseen/postponed", spider=self.spider)
        return True

    # Into the queue.

    def _flush(self) -> None:
        self._settle()
        self._leases.begin_batch()
        super()._flush()
        self._acknowledge()
        self._release_failed()
        self._release_postponed()

    def _ask(self, asked: Sequence[Asked]) -> None:
        keys = [key for _, key in asked]
        payloads = [self._payload(request, key) for request, key in asked]
        for request, key in asked:
            if self._leases.of(request) is not None:
                self._leases.add_target(request, key)
        batch = self._leases.asked()
        priorities = [request.priority for request, _ in asked]
        asking = self._in_thread(lambda: self._visited.discover(keys, payloads, priorities))
        asking.addCallbacks(self._discovered, self._not_answered, callbackArgs=(asked,), errbackArgs=(asked,))
        asking.addErrback(log_bug)
        asking.addBoth(lambda _: self._batch_ended(batch))

    def _payload(self, request: Request, key: Key) -> Optional[str]:
        # A redirect belongs to the same lease as the page that led to it.
        if self._leases.of(request) is not None:
            return None
        payload = payload_of(request, self.spider) if key.is_url else None
        if payload is None:
            self._count_unqueued(request)
        return payload

    def _count_unqueued(self, request: Request) -> None:
        self.stats.inc_value("unseen/unqueued", spider=self.spider)
        if not self._told_unqueued:
            self._told_unqueued = True
            logger.warning(
                "%s is kept in memory only and is lost if the crawl is killed. The queue stores GET requests over http and https "
                "whose callback is a spider method, with at most 1,024 bytes of JSON beside the URL, and without dont_filter "
                "or unseen_discovery. Further such requests are counted in unseen/unqueued",
                request,
            )

    def _discovered(self, results: Sequence[str], asked: Sequence[Asked]) -> None:
        if self._lease_failed:
            # The service is available again, so don't delay the next lease.
            self._lease_failed = self._filling = False
        others: List[Asked] = []
        seen: List[bool] = []
        for (request, key), result in zip(asked, results):
            lease = lease_of(request)
            if result == "seen" and self._leases.of(request) is not None:
                # Another page has visited it, so the release of this lease must not forget it.
                self._leases.remove_target(request, key)
            self._seen_since |= result == "seen"
            if result == "limited":
                logger.debug("Dropped a request, because the set already has maxUrls pages from its host: %s", request)
                self.stats.inc_value("unseen/limited", spider=self.spider)
                self._signal_dropped(request)
            elif result == "queued":
                self._may_have_more = True
                self.stats.inc_value("unseen/queued", spider=self.spider)
            elif result == "seen" and is_redirected(request) and lease is not None and lease[1] > 1:
                # An earlier crawl of this page may have visited the redirect's target, and then been killed before it
                # fetched it.
                self._schedule(request, key)
            else:
                others.append((request, key))
                seen.append(result == "seen")
        self._answered(seen, others)

    def _not_answered(self, failure: Failure, asked: Sequence[Asked]) -> None:
        self._leases.hold_all()
        super()._not_answered(failure, asked)

    def _batch_ended(self, batch: int) -> None:
        self._leases.answered(batch)
        self._flush_later()

    # Out of the queue.

    def _fill(self) -> None:
        if self._filling or not self._may_have_more or self._ending or self._closing:
            return
        self._filling = True
        # The answer may lack pages that are queued during this call, so another lease follows.
        self._may_have_more = self._seen_since = False
        leasing = self._in_thread(lambda: self._visited.lease(MOST_LEASED, self._options.lease_seconds))
        leasing.addCallbacks(self._leased, self._not_leased)
        leasing.addErrback(log_bug)

    def _leased(self, urls: Sequence[Dict[str, Any]]) -> None:
        self._lease_failed = False
        self._filling = bool(self._timers.get("poll"))
        if self._leases.has_done():
            # An earlier acknowledgement may have failed because the service was unavailable.
            self._flush_later()
        if urls:
            self._may_have_more = True
        else:
            self._look()
        self._leases.add(one["id"] for one in urls)
        if self._ending:
            # This crawl no longer checks the links of its pages, so it holds their leases and releases them at its end.
            self._leases.hold_all()
            return
        unreadable: List[str] = []
        failed: List[str] = []
        done: List[str] = []
        for one in urls:
            try:
                request = request_of(one["url"], one.get("payload"), self.spider)
                fingerprint = self._fingerprint(request)
            except OtherSpider as error:
                return self._refuse(str(error))
            except Exception as error:
                # A fingerprinter may also fail. The other pages are still crawled.
                logger.error("%s stays in the queue: %s", one["url"], error)
                unreadable.append(one["id"])
                self.stats.inc_value("unseen/unreadable", spider=self.spider)
                continue
            self._leases.come_back(one["id"], self._again_after(request))
            url = _digest(one["url"])
            # A page that the spider has forgotten and found again is a new entry, with attempt 1.
            comes_back = one["attempt"] > 1
            if comes_back and self._failed.has(url):
                failed.append(one["id"])
            elif comes_back and self._done_late.drop(url):
                done.append(one["id"])
            else:
                self._take(request, fingerprint, one, url)
        self._acknowledge_again(done)
        self._put_off(unreadable, f"spider {self.spider.name!r} cannot read its payload")
        self._put_off(failed, FAILED)

    def _put_off(self, leases: List[str], reason: str) -> None:
        """Releases leases with a delay. If crawls held them, they would wait for each other."""
        for lease in leases:
            self._leases.remove(lease)
        if leases:
            putting = self._in_thread(lambda: self._visited.put_off(leases, PUT_OFF_SECONDS, reason))
            putting.addErrback(self._not_given_back)

    def _put_off_held(self) -> None:
        """
        Releases held pages early if this crawl has nothing left to do but wait for other crawls, which may be waiting
        for this one. Counts that overlap with another call of this crawl, such as an acknowledgement, may include
        leases that it has ended. The crawl would mistake these for leases of other crawls.
        """
        slot = slot_of(self.crawler)
        busy = self._asking or self._overlapped or self._waiting or len(self) or self._ending
        if busy or slot is None or slot.inprogress:
            return
        self._settle()
        ends = self._leases.take_idle()
        self._acknowledge_again(ends.done)
        if ends.held:
            putting = self._in_thread(lambda: self._visited.put_off(ends.held, FAILED_SECONDS, HELD, ends.keys))
            putting.addErrback(self._not_given_back)

    def _acknowledge_again(self, leases: List[str]) -> None:
        again = self._leases.again(leases)
        for lease in leases:
            self._leases.remove(lease)
        if leases:
            self._in_thread(lambda: self._visited.ack(leases, again)).addErrback(self._not_given_back)

    def _again_after(self, request: Request) -> int:
        return again_after_of(request, self._options.again_after)

    def _take(self, request: Request, fingerprint: bytes, leased: Dict[str, Any], url: bytes) -> None:
        lease, attempt = leased["id"], leased["attempt"]
        keep(request, [Key(True, leased["url"])], self._run, (lease, attempt))
        is_again = attempt > 1 and self._taken.has(url)
        self._taken.add(url)
        unasked = self._known.was_unasked(fingerprint)
        if is_again or unasked:
            # The lease expired during an outage, or this run scheduled the page without a check. This run fetches it
            # once, and holds the new lease to the end in case the run is stopped before.
            if is_again:
                self._again[url] = lease
            else:
                self._leases.hold_unasked(lease)
            return
        self._leases.attach(request, lease)
        self._url_of[lease] = url
        self._known.let_through(fingerprint)
        self._push(request)

    def _look(self) -> None:
        self._filling = True
        looking = self._in_thread(self._visited.queue)
        self._overlapped = self._asking > 1
        looking.addCallbacks(self._looked, self._not_leased)

    def _in_thread(self, act: Callable[[], Any]) -> "defer.Deferred[Any]":
        self._overlapped = True
        return super()._in_thread(act)

    def _looked(self, queue: Dict[str, int]) -> None:
        """Waits for other crawls' pages: they return if those crawls are killed, and they may have new links."""
        others = queue["waiting"] + queue["leased"] - len(self._leases)
        if others > 0:
            self._put_off_held()
            self._poll()
        else:
            self._filling = False

    def _poll(self) -> None:
        self._may_have_more = True

        def again() -> None:
            self._filling = False
            self._wake()

        self._after("poll", POLL_SECONDS, again)

    def _not_leased(self, failure: Failure) -> None:
        if not self._lease_failed:
            logger.error("Unseen can't lease pages from set %s; they stay in its queue: %s", self._options.set_name, told(failure))
        self._lease_failed = True
        self._poll()

    def _refuse(self, name: str) -> None:
        logger.error(
            "The queue of set %s has pages from spider %r, which %r can't handle. Run spider %r to crawl them. To run this one, set "
            'another UNSEEN_SET, or UNSEEN_VISITED_WHEN = "scheduled", which uses the set without its queue',
            self._options.set_name,
            name,
            self.spider.name,
            name,
        )
        self._may_have_more = False
        close_spider(self.crawler, OTHER_SPIDER)

    def _idle_once(self) -> None:
        """Ends a crawl that can't lease pages, or leases once more before the crawl ends."""
        if self._lease_failed:
            self._idle()
        elif self._seen_since and not self._ending:
            self._may_have_more = True
            self._wake()
            raise DontCloseSpider
        elif not self._ending:
            # If other code keeps the spider open, pages may still come back, and other programs may queue pages.
            self._after("idle", POLL_SECONDS, self._look_again)

    def _look_again(self) -> None:
        self._may_have_more = True
        self._wake()

    # Leases.

    def _settle(self) -> None:
        """Finds requests that the engine has finished. Scrapy has no signal for the end of a callback."""
        slot = slot_of(self.crawler)
        if slot is not None:
            for request in [one for one in self._fetching if one not in slot.inprogress]:
                self._fetching.discard(request)
                self._let_go(request)

    def _let_go(self, request: Request) -> None:
        lease = self._leases.of(request)
        if lease is not None:
            # The page's callback may have set a different time.
            self._leases.come_back(lease, self._again_after(request))
        if self._leases.detach(request):
            self._flush_later()

    def _acknowledge(self) -> None:
        ready = self._leases.take_acknowledgeable()
        if ready:
            # Remove these URLs here, because _extend drops the URLs of leases that aren't held.
            urls = {lease: self._url_of.pop(lease) for lease in ready if lease in self._url_of}
            again = self._leases.again(ready)
            acknowledging = self._in_thread(lambda: self._visited.ack(list(ready), again))
            args = (ready, urls)
            acknowledging.addCallbacks(self._acknowledged, self._not_acknowledged, callbackArgs=args, errbackArgs=args)

    def _acknowledged(self, words: Sequence[str], leases: Dict[str, int], urls: Dict[str, bytes]) -> None:
        self._leases.acknowledged(leases)
        for lease, word in zip(leases, words):
            url = urls.get(lease)
            if url is not None and word == "expired":
                # The URL returns to this crawl or to another one, or has returned already.
                again = self._again.pop(url, None)
                if again is not None and again in self._leases:
                    self._acknowledge_again([again])
                else:
                    self._done_late.add(url)
                    self._may_have_more = True

    def _not_acknowledged(self, failure: Failure, leases: Dict[str, int], urls: Dict[str, bytes]) -> None:
        self._leases.put_back(leases)
        self._url_of.update(urls)
        self._outage.failed(len(leases), "acknowledged later", told(failure))

    def _release_failed(self) -> None:
        failed, keys = self._leases.take_failed()
        if failed:
            releasing = self._in_thread(lambda: self._visited.fail(failed, keys, FAILED_SECONDS, FAILED))
            releasing.addErrback(self._not_given_back)

    def _release_postponed(self) -> None:
        postponed, keys = self._leases.take_postponed()
        if postponed:
            # The page's host becomes due later.
            self._may_have_more = True
            releasing = self._in_thread(lambda: self._visited.postpone(postponed, keys))
            releasing.addErrback(self._not_given_back)

    def _flush_later(self) -> None:
        if self._timer is None and not self._over:
            self._timer = call_later(self._options.batch_delay, self._time_is_up)

    def _extend_later(self) -> None:
        self._after("extend", self._options.lease_seconds / 3, self._extend)

    def _extend(self) -> None:
        held = self._leases.held()
        self._url_of = {lease: self._url_of[lease] for lease in held if lease in self._url_of}
        if not held:
            self._extend_failed = False
            self._extend_later()
            return
        # Start the next call only after this one has ended, which may take longer than a lease.
        extending = self._in_thread(lambda: self._visited.extend(held, self._options.lease_seconds))
        extending.addCallbacks(self._extended, self._not_extended, callbackArgs=(held,), errbackArgs=(held,))

    def _extended(self, words: Sequence[str], leases: List[str]) -> None:
        self._extend_failed = False
        self._leases.remove_lost(one for one, word in zip(leases, words) if word != "extended")
        self._extend_later()

    def _not_extended(self, failure: Failure, leases: List[str]) -> None:
        if not self._extend_failed:
            self._outage.failed(len(leases), "available to other crawls when their leases end", told(failure))
        self._extend_failed = True
        # The call may have used most of the leases' remaining time.
        self._after("extend", POLL_SECONDS, self._extend)

    def _after(self, name: str, seconds: float, act: Any) -> None:
        def due() -> None:
            self._timers.pop(name, None)
            if not self._closing:
                act()

        if name not in self._timers:
            self._timers[name] = call_later(seconds, due)

    # The end.

    def close(self, reason: str) -> "defer.Deferred[Any]":
        self._finished = reason == "finished"
        return super().close(reason)

    def _signal_dropped(self, request: Request) -> None:
        self._let_go(request)
        super()._signal_dropped(request)

    def _give_back(self) -> "Optional[defer.Deferred[Any]]":
        self._over = True
        self._settle()
        for timer in (*self._timers.values(), *([self._timer] if self._timer else [])):
            timer.cancel()
        self._timer = None
        keys = self._take_unfetched()
        postponed, targets = self._leases.take_postponed()
        ends = self._leases.ends(self._finished)
        again = self._leases.again(ends.done)

        def give_back() -> Dict[str, int]:
            self._visited.postpone(postponed, targets)
            return self._visited.give_back(ends.done, ends.held, [*keys, *ends.keys], again)

        giving = in_thread(give_back)
        return giving.addCallbacks(self._tell_end, self._not_given_back)

    def _keys_to_unmark(self, unfetched: Request) -> List[Key]:
        # A leased page stays visited and in the queue.
        return super()._keys_to_unmark(unfetched) if self._leases.of(unfetched) is None else []

    def _not_given_back(self, failure: Failure) -> None:
        logger.error("Unseen did not release this crawl's leases; they will expire: %s", told(failure))

    def _tell_start(self, queue: Dict[str, int]) -> None:
        if self._options.again_after and self._visited.ages:
            logger.warning(
                "UNSEEN_AGAIN_AFTER has no effect, because set %s has maxAgeSeconds: its pages come back when a crawl finds them "
                "after that time",
                self._options.set_name,
            )
        left = queue["waiting"] + queue["leased"]
        if left:
            logger.info(
                "The queue of set %s has %d pages from earlier runs, which this run crawls. Other crawls, or a killed crawl, have "
                "leased %d of them for up to %d seconds",
                self._options.set_name,
                left,
                queue["leased"],
                self._options.lease_seconds,
            )

    def _tell_end(self, queue: Dict[str, int]) -> None:
        left = sum(queue[state] for state in ("waiting", "leased", "delayed"))
        self.stats.set_value("unseen/left", left, spider=self.spider)
        if left:
            logger.warning(
                "%d pages in set %s are visited but not crawled. They are in its queue: run the spider again to crawl them",
                left,
                self._options.set_name,
            )
        if queue["scheduled"]:
            self.stats.set_value("unseen/scheduled", queue["scheduled"], spider=self.spider)
        if queue["dead"]:
            self.stats.set_value("unseen/dead", queue["dead"], spider=self.spider)
            logger.warning(
                "%d pages in set %s are dead letters: they have used up their maxAttempts, and no run crawls them. List them at "
                "/v1/visited-sets/%s/queue/dead-letters, then put them back or purge them",
                queue["dead"],
                self._options.set_name,
                self._options.set_name,
            )


def _digest(url: str) -> bytes:
    return hashlib.sha1(url.encode("utf-8", "replace")).digest()
