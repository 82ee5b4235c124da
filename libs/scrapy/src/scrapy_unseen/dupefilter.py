"""A filter of duplicates that asks Unseen about each request: for other schedulers, such as that of scrapy-redis."""

import logging
from typing import Any, Optional

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Request
from scrapy.settings import BaseSettings
from scrapy.utils.request import fingerprint

from .loop import close_spider
from .options import SettingError, options_of
from .service import ServiceError, ServiceUnavailable
from .visited import Visited

logger = logging.getLogger(__name__)


class DupeFilter(BaseDupeFilter):
    """
    ``DUPEFILTER_CLASS = "scrapy_unseen.DupeFilter"``. It blocks the crawl while it asks, but for what it has asked about a short while
    ago. ``close`` and ``clear`` leave the set as it is: others may share it.
    """

    def __init__(self, settings: BaseSettings, spider_name: Optional[str] = None, crawler: Optional[Crawler] = None) -> None:
        self._settings = settings
        self._crawler = crawler
        self._name = spider_name
        self._visited: Optional[Visited] = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> "DupeFilter":
        spider = getattr(crawler, "spider", None)
        return cls(crawler.settings, getattr(spider, "name", None), crawler)

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> "DupeFilter":
        return cls(settings)

    @classmethod
    def from_spider(cls, spider: Spider) -> "DupeFilter":
        return cls(spider.settings, spider.name, spider.crawler)

    def open(self) -> None:
        self._asked()

    def request_seen(self, request: Request) -> bool:
        try:
            visited = self._asked()
            key = visited.key_of(request)
            return visited.is_known(key) or visited.visit([key])[0]
        except ServiceUnavailable as error:
            return self._not_asked(request, error)
        except ServiceError as error:
            if self._visited is None:
                raise
            return self._not_asked(request, error)

    def _not_asked(self, request: Request, error: Exception) -> bool:
        logger.error("Unseen was not asked about %s: %s", request, error)
        self._count("unseen/unknown" if self._options.on_error == "new" else "unseen/dropped")
        if self._options.on_error == "close" and self._crawler is not None:
            close_spider(self._crawler, "unseen_unavailable")
        return self._options.on_error != "new"

    def log(self, request: Request, spider: Spider) -> None:
        logger.debug("Filtered request that was seen: %s", request)
        for stat in ("bloomfilter/filtered", "dupefilter/filtered"):
            self._count(stat)

    def forget(self, *requests: "str | Request") -> None:
        """Makes URLs, or requests of any method, unseen."""
        found = [Request(one) if isinstance(one, str) else one for one in requests]
        visited = self._asked()
        visited.forget([visited.key_of(request) for request in found])

    def clear(self) -> None:
        """Called by scrapy-redis when it closes or flushes. A set that is shared is not emptied unasked."""
        logger.info("The visited set stays as it is; UNSEEN_CLEAR_ON_START empties it")

    def close(self, reason: str = "") -> None:
        if self._visited is not None:
            self._visited.close()

    def _asked(self) -> Visited:
        if self._visited is None:
            spider = getattr(self._crawler, "spider", None)
            self._options = options_of(self._settings, self._name or getattr(spider, "name", "crawl"))
            if self._options.mark == "crawled":
                raise SettingError('UNSEEN_MARK = "crawled" needs SCHEDULER = "scrapy_unseen.Scheduler": a filter is asked once')
            fingerprinter: Any = getattr(self._crawler, "request_fingerprinter", None)
            visited = Visited(self._options, fingerprinter.fingerprint if fingerprinter else fingerprint)
            self._open(visited)
            self._visited = visited
        return self._visited

    def _open(self, visited: Visited) -> None:
        try:
            visited.open()
        except ServiceUnavailable as error:
            # A set that is to be emptied first cannot be used as it is.
            if self._options.on_error == "close" or self._options.clear_on_start:
                raise
            logger.error("Unseen: the set cannot be made now: %s", error)

    def _count(self, stat: str) -> None:
        stats: Any = getattr(self._crawler, "stats", None)
        if stats is not None:
            stats.inc_value(stat, spider=getattr(self._crawler, "spider", None))
