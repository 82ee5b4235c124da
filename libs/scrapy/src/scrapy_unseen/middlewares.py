"""Middlewares that visit pages when they are crawled, and forget pages that failed."""

from typing import Any, AsyncIterator, Iterable, Optional
from weakref import WeakSet

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response

from .options import SettingError
from .scheduler import Scheduler


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
        #: Responses that go to their callback. Others go to an errback, for example if Scrapy treats their status as an
        #: error.
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
        # A request that robots.txt or another middleware blocks has not failed.
        if not isinstance(exception, IgnoreRequest):
            self._forget(request)
        return None

    def _forget(self, request: Request) -> None:
        _scheduler_of(self._crawler).forget_failed(request)
