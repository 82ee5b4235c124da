"""A scheduler that checks requests with Unseen in batches, outside the reactor thread."""

import logging
import uuid
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import CloseSpider
from scrapy.http import Request, Response
from scrapy.utils.job import job_dir
from scrapy.utils.misc import load_object
from twisted.internet import defer
from twisted.python.failure import Failure

from .discovery import is_discovery, keep_discovery
from .loop import at_shutdown, call_later, close_spider, fail_opening, in_thread, slot_of
from .kept_keys import Key, is_of_run, is_redirected, keep, kept_keys, lease_of, leads_back
from .options import Options, SettingError, options_of
from .outage import Outage
from .passed import Run
from .service import ServiceError, ServiceUnavailable
from .visited import Visited

logger = logging.getLogger(__name__)

MIDDLEWARE = "scrapy_unseen.VisitCrawled"
UNAVAILABLE = "unseen_unavailable"
#: In the meta of requests from a JOBDIR that must be checked when their turn comes.
UNASKED = "unseen_unasked"
#: Scrapy resolves host names in the same threads, of which it has ten.
MOST_CALLS = 4

Asked = Tuple[Request, Key]


class Scheduler(ScrapyScheduler):
    """
    ``SCHEDULER = "scrapy_unseen.Scheduler"``. Requests wait for up to ``UNSEEN_BATCH_DELAY`` and are checked together.
    New requests go to Scrapy's own queues. Seen requests are counted and signalled as ``request_dropped``.
    """

    # Scrapy declares these as optional, but a scheduler always has them.
    crawler: Any
    stats: Any
    _options: Options
    #: What the log adds about forgotten pages: the reason, and how to avoid it.
    _GIVEN_BACK = ("", '. To keep them, set UNSEEN_VISITED_WHEN = "queued" or a JOBDIR')

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Scheduler":
        settings = crawler.settings
        # Scrapy creates the spider first.
        spider: Any = crawler.spider
        try:
            options = options_of(settings, spider.name)
            if options.visited_when == "crawled" and MIDDLEWARE not in _names(settings.getwithbase("SPIDER_MIDDLEWARES")):
                raise SettingError(f'UNSEEN_VISITED_WHEN = "crawled" needs SPIDER_MIDDLEWARES = {{"{MIDDLEWARE}": 50}}')
        except SettingError:
            fail_opening(crawler)
            raise
        queued = options.visited_when == "queued"
        if queued:
            from .queued import QueuedScheduler

            # A subclass keeps its own methods.
            cls = QueuedScheduler if cls is Scheduler else type(cls.__name__, (cls, QueuedScheduler), {})
        # This scheduler replaces Scrapy's filter. It doesn't create the configured filter, because some filters clear
        # their set when they close.
        scheduler = cls(
            dupefilter=BaseDupeFilter(),
            # The set's queue replaces the JOBDIR.
            jobdir=None if queued else job_dir(settings),
            dqclass=load_object(settings["SCHEDULER_DISK_QUEUE"]),
            mqclass=load_object(settings["SCHEDULER_MEMORY_QUEUE"]),
            logunser=settings.getbool("SCHEDULER_DEBUG"),
            stats=crawler.stats,
            pqclass=load_object(settings["SCHEDULER_PRIORITY_QUEUE"]),
            crawler=crawler,
        )
        scheduler._options = options
        return scheduler

    def open(self, spider: Spider) -> "defer.Deferred[None]":
        super().open(spider)
        self._fingerprint: Callable[[Request], bytes] = self.crawler.request_fingerprinter.fingerprint
        self._visited = Visited(self._options, self._fingerprint)
        # Until the spider is open, Ctrl-C stops the reactor, which waits for its threads and closes no scheduler.
        at_shutdown(self._visited.hurry)
        self._run = uuid.uuid4().hex
        self._known = Run()
        self._outage = Outage()
        #: Fingerprints that this run doesn't schedule again, whatever the service says. With ``crawled``: all requests
        #: that it has scheduled. In all modes: pages that it failed to fetch, and has forgotten.
        self._not_again: Set[bytes] = set()
        self._waiting: List[Asked] = []
        self._timer: Optional[Any] = None
        self._calls = defer.DeferredSemaphore(MOST_CALLS)
        self._asking = 0
        self._to_visit: List[Key] = []
        #: The service was unavailable for too long, so no more requests are checked, but queued ones are still
        #: fetched.
        self._ending = False
        #: Requests not checked since the service became unavailable. A JOBDIR keeps them for the next run.
        self._unasked: List[Request] = []
        self._closing = False
        #: True if the queues are closed.
        self._over = False
        self._quiet: Optional["defer.Deferred[None]"] = None
        self.crawler.unseen = self
        self.crawler.signals.connect(self._response_received, signal=signals.response_received)
        opened = in_thread(self._visited.open)
        opened.addErrback(self._cannot_open)
        # Other code logs that the service is unavailable or doesn't allow this call.
        opened.addCallback(lambda _: in_thread(self._visited.queue).addCallbacks(self._tell_start, lambda failure: None))
        return opened

    def close(self, reason: str) -> "defer.Deferred[Any]":
        """Forgets pages that were visited but not fetched, unless a JOBDIR keeps them."""
        self._closing = True
        self._visited.hurry()
        self._flush()
        closing = self._until_quiet()
        closing.addCallback(lambda _: self._give_back())
        closing.addCallback(lambda _: self._keep_unasked())
        closing.addCallback(lambda _: super(Scheduler, self).close(reason))
        closing.addBoth(self._closed)
        return closing

    def has_pending_requests(self) -> bool:
        return self._asking > 0 or bool(self._waiting) or super().has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        if self._over:
            return self._leave_out(request)
        if request.dont_filter:
            return self._push_unfiltered(request)
        try:
            self._fingerprint(request)
        except Exception as error:
            # Fail now. Later, it would fail together with all other requests in its batch.
            logger.error("%s was dropped, because its fingerprinter failed: %r", request, error)
            return self._leave_out(request)
        if is_discovery(request, self.spider):
            return self._push_discovery(request)
        key = self._visited.key_of(request)
        redirected = is_redirected(request)
        if redirected and key in kept_keys(request):
            # A redirect back to a page in its own chain, for example after setting a cookie. That page was scheduled,
            # but not delivered yet.
            self._schedule(request, key)
            return True
        # In modes other than ``crawled``, the redirected request may itself have visited the URL in a different
        # spelling, so ask the service.
        if self._visited.is_known(key) and (self.visits_crawled or not redirected):
            self._mark_redirected(request)
            return self._count_seen(request)
        if self._is_not_again(request) and not self._leads_back(request):
            return self._count_seen(request)
        if self._ending:
            return self._put_by(request)
        if self.visits_crawled:
            self._not_again.add(self._fingerprint(request))
        self._waiting.append((request, key))
        self._soon()
        return True

    def next_request(self) -> Optional[Request]:
        while True:
            request = super().next_request()
            if request is None:
                return None
            if request.meta.pop(UNASKED, False):
                if not self.enqueue_request(request):
                    self._signal_dropped(request)
                # The engine treats None as an empty queue, so it must be woken.
                self._wake()
                return None
            if not self.visits_crawled or is_of_run(request, self._run):
                return request
            # This run may already have found a request that an earlier run left in a JOBDIR.
            if request.dont_filter or not self._is_not_again(request):
                self._not_again.add(self._fingerprint(request))
                return request
            self._drop(request)

    # The methods for spiders, as ``self.crawler.unseen``.

    def forget(self, *requests: "str | Request") -> "defer.Deferred[None]":
        """Forgets URLs, or requests with any method. They are fetched when a crawl finds them again."""
        found = [Request(one) if isinstance(one, str) else one for one in requests]
        for request in found:
            fingerprint = self._fingerprint(request)
            self._not_again.discard(fingerprint)
            self._known.forget(fingerprint)
        return self._forget([self._visited.key_of(request) for request in found])

    def forget_failed(self, request: Request) -> None:
        """Forgets a request and the redirects that led to it, for later runs. This run doesn't retry it."""
        keys = kept_keys(request)
        if not keys or self.visits_crawled:
            return
        for url in (request.url, *request.meta.get("redirect_urls", ())):
            self._not_again.add(self._fingerprint(request.replace(url=url)))
        self._forget(keys).addErrback(self._not_forgotten, len(keys))

    def postpone(self, request: Request, seconds: int) -> bool:
        """
        Returns a page to the queue, because its host asked crawls to wait. Returns False, and does nothing, if the page
        did not come from the queue.
        """
        return False

    def visit(self, keys: Sequence[Key]) -> None:
        """Visits keys with the next batch."""
        self._to_visit.extend(keys)
        self._soon()

    def visit_crawled(self, response: Response) -> None:
        """Visits the keys of a response's request, and the key of its final URL."""
        request: Any = response.request
        if self._ending and self.dqs is None:
            # The page's links were dropped. The next run fetches the page again and finds them.
            self.stats.inc_value("unseen/unvisited", spider=self.spider)
            return
        self.visit([*kept_keys(request), *self._final_key(request, response)])

    @property
    def visits_crawled(self) -> bool:
        return self._options.visited_when == "crawled"

    # Batches.

    def _soon(self) -> None:
        if len(self._waiting) >= self._options.batch_size:
            self._flush()
        elif self._timer is None:
            self._timer = call_later(self._options.batch_delay, self._time_is_up)

    def _time_is_up(self) -> None:
        self._timer = None
        self._flush()

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        asked, self._waiting = self._waiting, []
        keys, self._to_visit = self._to_visit, []
        if keys:
            visiting = self._in_thread(lambda: self._visited.visit(keys))
            visiting.addErrback(self._not_visited, keys)
        if not asked:
            return
        # Makes one call for each kind, which succeeds or fails as a whole.
        for kind in (True, False):
            some = [(request, key) for request, key in asked if key.is_url == kind]
            if some:
                self._ask(some)

    def _ask(self, asked: Sequence[Asked]) -> None:
        keys = [key for _, key in asked]
        ask = self._visited.ask if self.visits_crawled else self._visited.visit
        asking = self._in_thread(lambda: ask(keys))
        asking.addCallbacks(self._answered, self._not_answered, callbackArgs=(asked,), errbackArgs=(asked,))
        asking.addErrback(log_bug)

    def _in_thread(self, act: Callable[[], Any]) -> "defer.Deferred[Any]":
        self._asking += 1
        done = self._calls.run(in_thread, act)

        def ended(result: Any) -> Any:
            self._asking -= 1
            # Runs after the other callbacks of this Deferred.
            call_later(0, self._call_ended)
            return result

        return done.addBoth(ended)

    def _answered(self, results: Sequence[bool], asked: Sequence[Asked]) -> None:
        self._outage.answered()
        redirected: List[Asked] = []
        for (request, key), seen in zip(asked, results):
            if seen and is_redirected(request) and not self.visits_crawled:
                redirected.append((request, key))
            elif seen or self._known.was_unasked(self._fingerprint(request)) and not self._leads_back(request):
                self._drop(request)
            else:
                self._schedule(request, key)
        if redirected:
            looking = self._in_thread(lambda: [self._visited.is_one_page(key, kept_keys(one)) for one, key in redirected])
            looking.addCallbacks(self._looked_up, self._not_answered, callbackArgs=(redirected,), errbackArgs=(redirected,))
            looking.addErrback(log_bug)

    def _looked_up(self, results: Sequence[bool], redirected: Sequence[Asked]) -> None:
        """
        If a page redirects to another spelling of itself, its own request has visited the URL. The page must be
        delivered.
        """
        for (request, key), is_own in zip(redirected, results):
            if is_own:
                self._schedule(request, key)
            else:
                self._drop(request)

    def _not_answered(self, failure: Failure, asked: Sequence[Asked]) -> None:
        if self._options.on_error == "close":
            self._end()
        # The next run would miss pages that may be visited but aren't fetched.
        visited = self._ending and not self.visits_crawled and getattr(failure.value, "sent", True)
        if self._options.on_error == "new" or visited:
            self._outage.failed(len(asked), "fetched, each at most once in this run", told(failure))
            for request, key in asked:
                if self._leads_back(request) or self._known.let_through_unasked(self._fingerprint(request)):
                    self.stats.inc_value("unseen/unknown", spider=self.spider)
                    self._schedule(request, key)
                else:
                    self._drop(request)
            return
        self._outage.failed(len(asked), "left for the next run" if self._ending else "not fetched", told(failure))
        for request, _ in asked:
            if not (self._put_by(request) if self._ending else self._leave_out(request)):
                self._signal_dropped(request)

    def _schedule(self, request: Request, key: Key) -> None:
        before = kept_keys(request) if is_redirected(request) else []
        keep(request, [*(one for one in before if one != key), key], self._run, lease_of(request))
        self._known.let_through(self._fingerprint(request))
        self._push(request)

    def _push_unfiltered(self, request: Request) -> bool:
        """Schedules a request unchecked. Ties its meta to its URL, because spiders copy a page's meta to its links."""
        if is_redirected(request):
            keep(request, kept_keys(request), self._run, lease_of(request))
        if is_discovery(request, self.spider):
            keep_discovery(request)
        return self._push(request)

    def _push_discovery(self, request: Request) -> bool:
        """Schedules a document that lists pages, once per run. It doesn't become visited."""
        if self._is_not_again(request) and not self._leads_back(request):
            return self._count_seen(request)
        self._not_again.add(self._fingerprint(request))
        keep_discovery(request)
        return self._push(request)

    def _push(self, request: Request) -> bool:
        """Schedules a request as Scrapy's own scheduler does."""
        return super().enqueue_request(request)

    def _drop(self, request: Request) -> None:
        self._mark_redirected(request)
        self._count_seen(request)
        self._signal_dropped(request)

    def _mark_redirected(self, request: Request) -> None:
        """Visits the keys whose redirects led to a crawled page, so that they need no more checks."""
        if self.visits_crawled and is_redirected(request):
            self.visit(kept_keys(request))

    def _is_not_again(self, request: Request) -> bool:
        return bool(self._not_again) and self._fingerprint(request) in self._not_again

    def _leads_back(self, request: Request) -> bool:
        redirected = is_redirected(request) or is_discovery(request, self.spider)
        return redirected and leads_back(request, self._fingerprint)

    def _count_seen(self, request: Request) -> bool:
        logger.debug("Filtered a request that was already seen: %s", request)
        for stat in ("bloomfilter/filtered", "dupefilter/filtered"):
            self.stats.inc_value(stat, spider=self.spider)
        return False

    def _leave_out(self, request: Request) -> bool:
        logger.debug("Dropped an unchecked request: %s", request)
        self.stats.inc_value("unseen/dropped", spider=self.spider)
        return False

    def _put_by(self, request: Request) -> bool:
        if self.dqs is None:
            return self._leave_out(request)
        self._unasked.append(request)
        self.stats.inc_value("unseen/unasked", spider=self.spider)
        return True

    def _keep_unasked(self) -> None:
        for request in self._unasked:
            request.meta[UNASKED] = True
            self._push(request)

    def _signal_dropped(self, request: Request) -> None:
        self.crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=self.spider)

    def _response_received(self, response: Response, request: Request) -> None:
        if self.visits_crawled or self._is_not_again(request):
            return
        final = self._final_key(request, response)
        if final:
            self.visit(final)

    def _final_key(self, request: Request, response: Response) -> List[Key]:
        """Returns the key of a redirect's target, if it differs. Visits nothing for requests that were not checked."""
        keys = kept_keys(request)
        if not keys or response.url == keys[-1].text:
            return []
        final = self._visited.key_of(request.replace(url=response.url))
        return [final] if final.is_url and final not in keys else []

    def _not_visited(self, failure: Failure, keys: Sequence[Key]) -> None:
        self._outage.failed(len(keys), "not visited after their crawl", told(failure))
        self.stats.inc_value("unseen/unvisited", len(keys), spider=self.spider)

    def _forget(self, keys: Sequence[Key]) -> "defer.Deferred[None]":
        return self._in_thread(lambda: self._visited.forget(keys))

    def _not_forgotten(self, failure: Failure, count: int) -> None:
        logger.error("Unseen did not forget %d requests: %s", count, told(failure))

    # The engine.

    def _call_ended(self) -> None:
        self._check_quiet()
        self._wake()

    def _wake(self) -> None:
        """Wakes the engine, which would otherwise wait for its next heartbeat, 5 s later."""
        slot = slot_of(self.crawler)
        if slot is not None and not self._closing:
            slot.nextcall.schedule()

    def _end(self) -> None:
        """
        Closes the spider when all queued requests were fetched. The next run would miss visited pages that were not
        fetched.
        """
        if not self._ending:
            self._ending = True
            self.crawler.signals.connect(self._idle, signal=signals.spider_idle)

    def _idle(self) -> None:
        # Other code may raise DontCloseSpider, which wins.
        call_later(0, lambda: close_spider(self.crawler, UNAVAILABLE))
        raise CloseSpider(UNAVAILABLE)

    def _cannot_open(self, failure: Failure) -> Any:
        # A set that must be cleared first can't be used yet.
        if failure.check(ServiceUnavailable) and self._options.on_error != "close" and not self._options.clear_on_start:
            logger.error("Unseen can't create the set now: %s", failure.value)
            return None
        fail_opening(self.crawler)
        return failure

    # The end.

    def _until_quiet(self) -> "defer.Deferred[None]":
        quiet = self._quiet = defer.Deferred()
        self._check_quiet()
        return quiet

    def _check_quiet(self) -> None:
        if self._quiet is None or self._asking > 0:
            return
        if self._waiting or self._to_visit:
            self._flush()
            return
        quiet, self._quiet = self._quiet, None
        quiet.callback(None)

    def _give_back(self) -> "Optional[defer.Deferred[Any]]":
        self._over = True
        # With ``crawled``, these pages weren't visited.
        keys = [] if self.visits_crawled else self._take_unfetched()
        if not keys:
            return None
        giving = in_thread(lambda: self._visited.forget(keys))
        return giving.addErrback(self._not_forgotten, len(keys))

    def _take_unfetched(self) -> List[Key]:
        """Empties the queue in memory and returns the keys to forget."""
        keys: List[Key] = []
        count = 0
        while True:
            request = self.mqs.pop()
            if request is None:
                break
            kept = self._keys_to_unmark(request)
            keys += kept
            count += bool(kept)
        if count:
            self.stats.inc_value("unseen/given_back", count, spider=self.spider)
            logger.warning(
                "%d pages were found but not fetched%s. The set has forgotten them: a later run fetches them only if it "
                "finds them again%s",
                count,
                *self._GIVEN_BACK,
            )
        return keys

    def _keys_to_unmark(self, unfetched: Request) -> List[Key]:
        return kept_keys(unfetched)

    def _tell_start(self, queue: Dict[str, int]) -> None:
        if queue["waiting"] + queue["leased"]:
            logger.warning(
                "The queue of set %s has %d pages that this run does not crawl and treats as seen. "
                'Set UNSEEN_VISITED_WHEN = "queued" to crawl them',
                self._options.set_name,
                queue["waiting"] + queue["leased"],
            )

    def _closed(self, result: Any) -> Any:
        self._visited.close()
        return result


def told(failure: Failure) -> str:
    """The service's error, or the traceback of an error in this package."""
    return str(failure.value) if failure.check(ServiceError, ServiceUnavailable, SettingError) else failure.getTraceback()


def log_bug(failure: Failure) -> None:
    logger.error("Unseen: %s", failure.getTraceback())


def _names(components: Any) -> "set[str]":
    return {one if isinstance(one, str) else f"{one.__module__.split('.')[0]}.{one.__name__}" for one in components}
