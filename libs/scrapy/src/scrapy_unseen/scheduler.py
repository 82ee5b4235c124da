"""A scheduler that asks Unseen about requests in batches, off the reactor."""

import logging
from typing import Any, Callable, List, Optional, Sequence, Tuple

from scrapy import Spider, signals
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.exceptions import CloseSpider
from scrapy.http import Request, Response
from twisted.internet import defer
from twisted.python.failure import Failure

from .loop import call_later, in_thread
from .options import Options, SettingError, options_of
from .service import ServiceError, ServiceUnavailable
from .visited import Key, Visited

logger = logging.getLogger(__name__)

#: Where a request has the key under which it was marked. Copies, such as those of redirects, have it, too.
MARKED = "unseen_marked"
MIDDLEWARE = "scrapy_unseen.MarkCrawled"
UNAVAILABLE = "unseen_unavailable"

Asked = Tuple[Request, Key]


class Scheduler(ScrapyScheduler):
    """
    ``SCHEDULER = "scrapy_unseen.Scheduler"``. Requests wait for up to ``UNSEEN_BATCH_DELAY`` and are asked about together. New
    ones go on to Scrapy's own queues, seen ones are counted and signalled as ``request_dropped``.
    """

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "Scheduler":
        scheduler = super().from_crawler(crawler)
        # What Scrapy would ask is asked here.
        scheduler.df.close("")
        scheduler.df = BaseDupeFilter()
        return scheduler

    def open(self, spider: Spider) -> "defer.Deferred[None]":
        super().open(spider)
        settings = self.crawler.settings
        self._options: Options = options_of(settings, spider.name)
        if self._options.mark == "crawled" and MIDDLEWARE not in _names(settings.getwithbase("SPIDER_MIDDLEWARES")):
            raise SettingError(f'UNSEEN_MARK = "crawled" needs SPIDER_MIDDLEWARES = {{"{MIDDLEWARE}": 50}}')
        self._visited = Visited(self._options, self.crawler.request_fingerprinter.fingerprint)
        #: Of this run, where marks come only when a page has been crawled.
        self._scheduled: "set[Key]" = set()
        self._waiting: List[Asked] = []
        self._timer: Optional[Any] = None
        self._asking = 0
        self._to_visit: List[Key] = []
        #: Nothing more is asked, what was queued is still fetched: the service was away for too long.
        self._ending = False
        self._quiet: Optional["defer.Deferred[None]"] = None
        self.crawler.unseen = self
        self.crawler.signals.connect(self._response_received, signal=signals.response_received)
        opened = in_thread(self._visited.open)
        opened.addErrback(self._cannot_open)
        return opened

    def close(self, reason: str) -> "defer.Deferred[Any]":
        """What was marked and is not fetched is forgotten again, unless it is kept in a JOBDIR."""
        self._flush()
        closing = self._until_quiet()
        closing.addCallback(lambda _: self._give_back())
        closing.addCallback(lambda _: super(Scheduler, self).close(reason))
        closing.addBoth(self._closed)
        return closing

    def has_pending_requests(self) -> bool:
        return self._asking > 0 or bool(self._waiting) or super().has_pending_requests()

    def enqueue_request(self, request: Request) -> bool:
        if request.dont_filter:
            return self._push(request)
        key = self._visited.key_of(request)
        if self._visited.is_known(key) or key in self._scheduled:
            self._count_seen(request)
            return False
        if self._ending:
            self.stats.inc_value("unseen/dropped", spider=self.spider)
            return False
        if self._options.mark == "crawled":
            self._scheduled.add(key)
        self._waiting.append((request, key))
        self._soon()
        return True

    # What spiders may call, as ``self.crawler.unseen``.

    def forget(self, *requests: "str | Request") -> "defer.Deferred[None]":
        """Makes URLs, or requests of any method, unseen: they are fetched when they are found again."""
        found = [Request(one) if isinstance(one, str) else one for one in requests]
        keys = [self._visited.key_of(request) for request in found]
        self._scheduled.difference_update(keys)
        return self._in_thread(lambda: self._visited.forget(keys))

    def mark(self, keys: Sequence[Key]) -> None:
        """Marks keys with the next batch."""
        self._to_visit.extend(keys)
        self._soon()

    def keys_of(self, response: Response) -> List[Key]:
        """The keys that a response has answered: that of its request as it was asked about, and that of its final URL."""
        asked = _key_in(response.request)
        if asked is None:
            return []
        final = self._visited.key_of(response.request.replace(url=response.url))
        return [asked, final] if final.is_url and final != asked else [asked]

    @property
    def marks_crawled(self) -> bool:
        return self._options.mark == "crawled"

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
        marks, self._to_visit = self._to_visit, []
        if marks:
            marking = self._in_thread(lambda: self._visited.visit(marks))
            marking.addErrback(self._not_marked, marks)
        if not asked:
            return
        # One call each, which is answered or not as a whole.
        for kind in (True, False):
            some = [(request, key) for request, key in asked if key.is_url == kind]
            if some:
                self._ask(some)

    def _ask(self, asked: Sequence[Asked]) -> None:
        keys = [key for _, key in asked]
        ask = self._visited.ask if self.marks_crawled else self._visited.visit
        asking = self._in_thread(lambda: ask(keys))
        asking.addCallbacks(self._answered, self._not_answered, callbackArgs=(asked,), errbackArgs=(asked,))
        asking.addErrback(lambda failure: logger.error("Unseen: %s", failure.getTraceback()))

    def _in_thread(self, act: Callable[[], Any]) -> "defer.Deferred[Any]":
        self._asking += 1
        done = in_thread(act)

        def ended(result: Any) -> Any:
            self._asking -= 1
            # After what others have added to this.
            call_later(0, self._call_ended)
            return result

        return done.addBoth(ended)

    def _answered(self, results: Sequence[bool], asked: Sequence[Asked]) -> None:
        for (request, key), seen in zip(asked, results):
            if seen:
                self._drop(request)
            else:
                self._schedule(request, key)

    def _not_answered(self, failure: Failure, asked: Sequence[Asked]) -> None:
        failure.trap(ServiceUnavailable, ServiceError)
        logger.error("Unseen was not asked about %d requests: %s", len(asked), failure.value)
        if self._options.on_error == "close":
            self._end()
        # What may have been marked, and is not fetched, would be lost to the next run.
        marked = self._ending and not self.marks_crawled and getattr(failure.value, "sent", False)
        if self._options.on_error == "new" or marked:
            self.stats.inc_value("unseen/unknown", len(asked), spider=self.spider)
            for request, key in asked:
                self._schedule(request, key)
            return
        for request, _ in asked:
            self.stats.inc_value("unseen/dropped", spider=self.spider)
            self._signal_dropped(request)

    def _schedule(self, request: Request, key: Key) -> None:
        request.meta[MARKED] = [key.is_url, key.text]
        self._push(request)

    def _push(self, request: Request) -> bool:
        """As Scrapy's own scheduler does with a request that no filter has seen."""
        return super().enqueue_request(request)

    def _drop(self, request: Request) -> None:
        self._count_seen(request)
        self._signal_dropped(request)

    def _count_seen(self, request: Request) -> None:
        logger.debug("Filtered request that was seen: %s", request)
        for stat in ("bloomfilter/filtered", "dupefilter/filtered"):
            self.stats.inc_value(stat, spider=self.spider)

    def _signal_dropped(self, request: Request) -> None:
        self.crawler.signals.send_catch_log(signals.request_dropped, request=request, spider=self.spider)

    def _response_received(self, response: Response, request: Request) -> None:
        if self.marks_crawled:
            return
        # Where a redirect has led to is seen, too.
        final = self._visited.key_of(request.replace(url=response.url))
        if final.is_url and _key_in(request) not in (None, final):
            self.mark([final])

    def _not_marked(self, failure: Failure, keys: Sequence[Key]) -> None:
        failure.trap(ServiceUnavailable, ServiceError)
        logger.error("Unseen did not mark %d pages: %s", len(keys), failure.value)
        self.stats.inc_value("unseen/unmarked", len(keys), spider=self.spider)

    # The engine.

    def _call_ended(self) -> None:
        self._check_quiet()
        self._wake()

    def _wake(self) -> None:
        """Without this the engine would look after its requests with its next heartbeat only, 5 s later."""
        engine = self.crawler.engine
        slot = getattr(engine, "_slot", None) or getattr(engine, "slot", None)
        if slot is not None:
            slot.nextcall.schedule()

    def _end(self) -> None:
        """Closes the spider when what is queued has been fetched. What is marked and not fetched would be lost to the next run."""
        if not self._ending:
            self._ending = True
            self.crawler.signals.connect(self._idle, signal=signals.spider_idle)

    def _idle(self) -> None:
        raise CloseSpider(UNAVAILABLE)

    def _cannot_open(self, failure: Failure) -> Any:
        if failure.check(ServiceUnavailable) and self._options.on_error != "close":
            logger.error("Unseen: the set cannot be made now: %s", failure.value)
            return None
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
        keys: List[Key] = []
        while not self.marks_crawled:
            request = self.mqs.pop()
            if request is None:
                break
            key = _key_in(request)
            if key is not None:
                keys.append(key)
        if not keys:
            return None
        self.stats.inc_value("unseen/given_back", len(keys), spider=self.spider)
        giving = in_thread(lambda: self._visited.forget(keys))
        return giving.addErrback(self._not_given_back, len(keys))

    def _not_given_back(self, failure: Failure, count: int) -> None:
        failure.trap(ServiceUnavailable, ServiceError)
        logger.error("Unseen did not forget %d requests that were not made: %s", count, failure.value)

    def _closed(self, result: Any) -> Any:
        self._visited.close()
        return result


def _key_in(request: Optional[Request]) -> Optional[Key]:
    kept = request.meta.get(MARKED) if request is not None else None
    return Key(bool(kept[0]), str(kept[1])) if kept else None


def _names(components: Any) -> "set[str]":
    return {one if isinstance(one, str) else f"{one.__module__.split('.')[0]}.{one.__name__}" for one in components}
