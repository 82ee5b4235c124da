"""Crawls given URLs in the given order. Prints its stats as JSON."""

import json
import logging
import sys
import threading
import time
import uuid
from typing import Any, AsyncIterator, Dict, Iterator, List

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.spiders import SitemapSpider
from scrapy.utils.request import RequestFingerprinter
from twisted.python.failure import Failure

from scrapy_unseen import Scheduler
from scrapy_unseen.loop import call_later
from scrapy_unseen.service import ServiceUnavailable

AT_ONCE = 8
#: Maximum number of seconds that a call waits for another.
LONGEST = 60


class Given(Spider):
    name = "given"
    handle_httpstatus_list = [503]

    def __init__(self, urls: List[str], behaviour: Dict[str, Any], **_: Any) -> None:
        super().__init__(behaviour.get("name"))
        self.urls = urls
        self.behaviour = behaviour

    def start_requests(self) -> Iterator[Request]:
        if self.behaviour.get("stays"):
            self.crawler.signals.connect(self.stay, signal=signals.spider_idle)
        if self.behaviour.get("late"):
            self.crawler.signals.connect(self.one_more_at_the_end, signal=signals.spider_closed)
        if self.behaviour.get("slow"):
            # A few at a time, as with links. Otherwise, a single call would check all URLs.
            self.left = list(self.urls)
            self.coming = 0
            self.crawler.signals.connect(self.stay_for_more, signal=signals.spider_idle)
            self.crawler.signals.connect(self.one_more, signal=signals.request_dropped)
            yield from (Request(self.left.pop(0)) for _ in range(AT_ONCE))
            return
        for url in self.urls:
            method, _, target = url.rpartition(" ")
            dont_filter = target in self.behaviour.get("dont_filter", [])
            meta = {"unseen_discovery": True} if target in self.behaviour.get("discovery", []) else {}
            yield Request(target, method=method or "GET", dont_filter=dont_filter, errback=self.failed, meta=meta)

    async def start(self) -> AsyncIterator[Request]:
        """Called by later versions of Scrapy."""
        for request in self.start_requests():
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if response.url.endswith(tuple(self.behaviour.get("fails", []))):
            raise ValueError("the callback has failed")
        if response.url in self.behaviour.get("forgets", []):
            self.crawler.unseen.forget(response.url)
        if response.url in self.behaviour.get("again", {}):
            response.meta["unseen_again_after"] = self.behaviour["again"][response.url]
        yield {"url": response.url}
        if self.behaviour.get("follows"):
            for link in response.css("a::attr(href)").getall():
                yield response.follow(link)
        for link in self.behaviour.get("links", {}).get(response.url, []):
            more = {"large": "x" * 2_000} if self.behaviour.get("large") else {}
            again = link in self.behaviour.get("dont_filter", [])
            listed = {"unseen_discovery": True} if link in self.behaviour.get("discovery", []) else {}
            priority = self.behaviour.get("priorities", {}).get(link, 0)
            yield Request(link, meta={**response.meta, **more, **listed}, dont_filter=again, priority=priority)
        if getattr(self, "left", None):
            yield Request(self.left.pop(0))

    def failed(self, failure: Failure) -> None:
        self.logger.info("not handled: %s", failure.value)

    def stay(self) -> None:
        raise DontCloseSpider

    def one_more_at_the_end(self) -> None:
        self.crawler.engine.crawl(Request(self.behaviour["late"]))

    def one_more(self) -> None:
        from twisted.internet import reactor

        if self.left:
            self.coming += 1
            reactor.callLater(0, self.come, Request(self.left.pop(0)))

    def come(self, request: Request) -> None:
        self.coming -= 1
        self.crawler.engine.crawl(request)

    def stay_for_more(self) -> None:
        if self.coming:
            raise DontCloseSpider


class Derived(Scheduler):
    def open(self, spider: Spider) -> Any:
        self.stats.inc_value("derived")
        return super().open(spider)


class LooksLate(Scheduler):
    """Checks the empty queue first, but gets that answer only after the start page has arrived."""

    held: Any = []
    looked: Any = None

    def has_pending_requests(self) -> bool:
        # A held start page counts as pending. Otherwise, the crawl may end too early.
        return bool(self.held) and self.looked is None or super().has_pending_requests()

    def _ask(self, asked: Any) -> None:
        if self.looked is None:
            self.held = asked
        else:
            super()._ask(asked)

    def _looked(self, queue: Any) -> None:
        if self.looked is None and not self.held:
            call_later(0.01, lambda: self._looked(queue))
        elif self.looked is None:
            self.looked = queue
            super()._ask(self.held)
        else:
            super()._looked(queue)

    def _discovered(self, *given: Any) -> None:
        super()._discovered(*given)
        if not self.stats.get_value("looked_late"):
            self.stats.inc_value("looked_late")
            super()._looked(self.looked)


class QueuedByAnother(LooksLate):
    """Another crawl queues this crawl's start page after this one has checked the empty queue."""

    def _looked(self, queue: Any) -> None:
        if self.looked is None and self.held:
            self._visited.discover([key for _, key in self.held], [self._payload(*one) for one in self.held], [0] * len(self.held))
        super()._looked(queue)


class EndsFirst(Scheduler):
    """Ends before it gets its first page, as if the service had been unavailable."""

    def _leased(self, urls: Any) -> None:
        if urls:
            self._end()
        super()._leased(urls)


class MissesAnswer(Scheduler):
    """Loses the answer that its first page was queued, so fetches it from memory."""

    def _discovered(self, results: Any, asked: Any) -> None:
        if self.stats.get_value("missed"):
            super()._discovered(results, asked)
        else:
            self.stats.inc_value("missed")
            self._not_answered(Failure(ServiceUnavailable("too late", sent=True)), asked)


class TellsNotAnswered(Scheduler):
    """Logs links that got no answer."""

    def _not_answered(self, *given: Any) -> None:
        super()._not_answered(*given)
        logging.info("links were not answered")


class HoldsFirst(Scheduler):
    """Holds its first pages to the end, as if the service had not answered for their links."""

    def _leased(self, urls: Any) -> None:
        super()._leased(urls)
        if urls and not self.stats.get_value("held_first"):
            self.stats.inc_value("held_first")
            self._leases.hold_all()


class LooksBeforeAcknowledging(HoldsFirst):
    """Looks at the queue before its acknowledgements arrive, but gets that answer after theirs."""

    def open(self, spider: Spider) -> Any:
        opened = super().open(spider)
        ack, queue = self._visited.ack, self._visited.queue
        looked, acknowledging = threading.Event(), threading.Event()

        def look() -> Any:
            counts = queue()
            # Holds the answer only if the crawl has more leases than the one that it holds to its end.
            if not looked.is_set() and (len(self._leases) > 1 or acknowledging.is_set()):
                self.stats.inc_value("looked_before")
                looked.set()
                end = time.monotonic() + LONGEST
                while (len(self._leases), self._asking) != (1, 1) and time.monotonic() < end:
                    time.sleep(0.01)
            return counts

        def acknowledge(*given: Any) -> Any:
            acknowledging.set()
            looked.wait(LONGEST)
            return ack(*given)

        self._visited.queue, self._visited.ack = look, acknowledge
        return opened


class LeasesAgain(Scheduler):
    """Gets its first pages again, as if their leases had expired."""

    def _leased(self, urls: Any) -> None:
        super()._leased(urls)
        if urls and not self.stats.get_value("leased_again"):
            self.stats.inc_value("leased_again")
            super()._leased([{**one, "id": uuid.uuid4().hex, "attempt": 2} for one in urls])


class ComesBackSoon(Scheduler):
    """A failed page returns after a second. If this crawl then puts it off, the usual delay applies."""

    def open(self, spider: Spider) -> Any:
        opened = super().open(spider)
        fail = self._visited.fail
        self._visited.fail = lambda leases, keys, seconds, reason: fail(leases, keys, 1, reason)
        return opened


class AcknowledgesLate(Scheduler):
    """Acknowledges its first pages after their leases have expired."""

    def open(self, spider: Spider) -> Any:
        opened = super().open(spider)
        ack, release = self._visited.ack, self._visited._each

        def late(leases: Any, again: Any) -> Any:
            self._visited.ack = ack
            release("release", leases)
            self.stats.inc_value("acknowledged_late", len(leases))
            return ack(leases, again)

        self._visited.ack = late
        return opened


class FailsAt13(RequestFingerprinter):
    """A project's fingerprinter that fails for some requests."""

    def fingerprint(self, request: Request) -> bytes:
        if request.url.endswith("/13"):
            raise KeyError("no fingerprint")
        return super().fingerprint(request)


class Mapped(SitemapSpider):
    name = "mapped"

    def __init__(self, urls: List[str], behaviour: Dict[str, Any], **_: Any) -> None:
        self.sitemap_urls = urls
        super().__init__()

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        yield {"url": response.url}


def run(urls: List[str], settings: Dict[str, Any], behaviour: Dict[str, Any]) -> None:
    all_settings = {
        "SCHEDULER": "scrapy_unseen.Scheduler",
        "LOG_LEVEL": "INFO",
        # Leaves out the parts whose modules install a reactor (see tests/parts.py).
        "EXTENSIONS": {"scrapy.extensions.telnet.TelnetConsole": None},
        "DOWNLOAD_HANDLERS": {"ftp": None},
        "RETRY_TIMES": 1,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        **settings,
    }
    process = CrawlerProcess(all_settings, install_root_handler=True)
    crawler = process.create_crawler(Mapped if behaviour.get("sitemap") else Given)
    # Twisted reports an unhandled failure when it is garbage-collected, which may never happen in a forked process.
    crawling = process.crawl(crawler, urls=urls, behaviour=behaviour)
    crawling.addErrback(lambda failure: sys.stderr.write(failure.getTraceback()))
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps({key: value for key, value in stats.items() if isinstance(value, (int, float, str))}))
