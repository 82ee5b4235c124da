"""Middlewares that visit pages when they are crawled, forget failed pages, and postpone pages on busy hosts."""

import math
import time
from email.utils import parsedate_to_datetime
from typing import Any, AsyncIterator, Dict, Iterable, Optional
from urllib.parse import urlsplit
from weakref import WeakSet

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response

from .options import SettingError
from .scheduler import Scheduler

#: The longest host delay that the service accepts.
MOST_SECONDS = 86_400
#: Maximum number of busy hosts that a crawl remembers.
MOST_HOSTS = 10_000
#: Statuses with which a host asks clients to wait.
BUSY = (429, 503)


def _scheduler_of(crawler: Crawler) -> Scheduler:
    scheduler = getattr(crawler, "unseen", None)
    if isinstance(scheduler, Scheduler):
        return scheduler
    raise SettingError('this middleware needs SCHEDULER = "scrapy_unseen.Scheduler"')


class VisitCrawled:
    """
    A spider middleware for ``UNSEEN_VISITED_WHEN = "crawled"``: a page becomes visited when its callback has ended
    without an error.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        #: Responses that go to their callback. All others go to an errback, for example because Scrapy treats their
        #: status as an error.
        self._called: "WeakSet[Response]" = WeakSet()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "VisitCrawled":
        return cls(crawler)

    def process_spider_input(self, response: Response, spider: Optional[Spider] = None) -> None:
        self._called.add(response)

    def process_spider_output(self, response: Response, result: Iterable[Any], spider: Optional[Spider] = None) -> Iterable[Any]:
        yield from result
        self._visit(response)

    async def process_spider_output_async(
        self, response: Response, result: AsyncIterator[Any], spider: Optional[Spider] = None
    ) -> AsyncIterator[Any]:
        async for one in result:
            yield one
        self._visit(response)

    def _visit(self, response: Response) -> None:
        scheduler = _scheduler_of(self._crawler)
        if scheduler.visits_crawled and response in self._called:
            scheduler.visit_crawled(response)


class ForgetFailed:
    """
    A downloader middleware: forgets a page when its last retry has failed. A later run fetches the page if it finds it
    again. A page that came from the queue returns to the queue, and the next run fetches it.

    Place it before Scrapy's RetryMiddleware, which counts the attempts: ``DOWNLOADER_MIDDLEWARES =
    {"scrapy_unseen.ForgetFailed": 540}``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._codes = {int(code) for code in crawler.settings.getlist("RETRY_HTTP_CODES")}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "ForgetFailed":
        return cls(crawler)

    def process_response(self, request: Request, response: Response, spider: Optional[Spider] = None) -> Response:
        if response.status in self._codes:
            self._forget(request)
        return response

    def process_exception(
        self, request: Request, exception: Exception, spider: Optional[Spider] = None
    ) -> Optional[Response]:
        # A request blocked by robots.txt or another middleware hasn't failed.
        if not isinstance(exception, IgnoreRequest):
            self._forget(request)
        return None

    def _forget(self, request: Request) -> None:
        _scheduler_of(self._crawler).forget_failed(request)


class RetryAfter:
    """
    A downloader middleware for pages of the queue: if a host answers 429 or 503 with ``Retry-After``, the page returns to
    the queue. In a set with ``perHost``, no crawl of the set gets a page of this host before that time has passed. This
    crawl fetches no page of the host that it already has, either.

    Place it behind Scrapy's RetryMiddleware, which would retry immediately: ``DOWNLOADER_MIDDLEWARES =
    {"scrapy_unseen.RetryAfter": 560}``.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        #: When each busy host can be asked again, by ``time.monotonic()``.
        self._until: Dict[str, float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "RetryAfter":
        return cls(crawler)

    def process_request(self, request: Request, spider: Optional[Spider] = None) -> None:
        host = _host_of(request)
        seconds = math.ceil(self._until.get(host, 0.0) - time.monotonic())
        if seconds > 0:
            self._postpone(request, seconds)
        else:
            self._until.pop(host, None)

    def process_response(self, request: Request, response: Response, spider: Optional[Spider] = None) -> Response:
        seconds = _retry_after(response) if response.status in BUSY else 0
        if seconds > 0:
            host = _host_of(request)
            self._until[host] = max(self._until.get(host, 0.0), time.monotonic() + seconds)
            if len(self._until) > MOST_HOSTS:
                # Forgets the host that can be asked again soonest. In a set with perHost, the service still delays it.
                del self._until[min(self._until, key=self._until.__getitem__)]
            self._postpone(request, seconds)
        return response

    def _postpone(self, request: Request, seconds: int) -> None:
        if _scheduler_of(self._crawler).postpone(request, seconds):
            raise IgnoreRequest(f"{_host_of(request)} asked crawls to wait for {seconds} s")


def _host_of(request: Request) -> str:
    return urlsplit(request.url).hostname or ""


def _retry_after(response: Response) -> int:
    """The seconds in ``Retry-After``, even if it is a date. 0 if there is none."""
    text = (response.headers.get("Retry-After") or b"").decode("latin-1").strip()
    if text.isdecimal():
        return min(MOST_SECONDS, int(text[:9]))
    try:
        seconds = math.ceil(parsedate_to_datetime(text).timestamp() - time.time())
    except (IndexError, OverflowError, TypeError, ValueError):
        return 0
    return max(0, min(MOST_SECONDS, seconds))
