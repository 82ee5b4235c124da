"""A duplicate filter that checks each request with Unseen, for other schedulers, such as the one in scrapy-redis."""

import logging
from typing import Any, Optional, Set

from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.http import Request
from scrapy.settings import BaseSettings
from scrapy.utils.request import fingerprint

from .discovery import is_discovery, keep_discovery
from .loop import close_spider, fail_opening
from .kept_keys import Key, is_redirected, keep, kept_keys, leads_back
from .options import SettingError, options_of
from .outage import Outage
from .passed import Run
from .service import ServiceError, ServiceUnavailable
from .visited import Visited

logger = logging.getLogger(__name__)


class DupeFilter(BaseDupeFilter):
    """
    ``DUPEFILTER_CLASS = "scrapy_unseen.DupeFilter"``. Blocks the crawl during a check, except for requests that it
    checked a short while ago. ``close`` and ``clear`` keep the contents of the set, because other crawls may share
    it.
    """

    def __init__(self, settings: BaseSettings, spider_name: Optional[str] = None, crawler: Optional[Crawler] = None) -> None:
        self._settings = settings
        self._crawler = crawler
        self._name = spider_name
        self._visited: Optional[Visited] = None
        self._is_open = False
        self._known = Run()
        self._discovered: Set[bytes] = set()
        self._outage = Outage()

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
        try:
            self._asked()
        except Exception:
            fail_opening(self._crawler)
            raise

    def request_seen(self, request: Request) -> bool:
        key: Optional[Key] = None
        try:
            visited = self._asked()
            if is_discovery(request, getattr(self._crawler, "spider", None)):
                return self._discovery_seen(request)
            key = visited.key_of(request)
            seen = self._key_seen(visited, request, key)
        except ServiceUnavailable as error:
            seen = self._not_asked(request, error)
        except ServiceError as error:
            if not self._is_open:
                raise
            seen = self._not_asked(request, error)
        if not seen and key is not None:
            keep(request, [*kept_keys(request), key], "")
            self._known.let_through(self._fingerprint(request))
        return seen

    def _key_seen(self, visited: Visited, request: Request, key: Key) -> bool:
        redirected = is_redirected(request)
        # The request was redirected back to a page in its own chain, for example after setting a cookie. That page was
        # scheduled, but not delivered yet.
        if redirected and key in kept_keys(request):
            return False
        if not redirected and visited.is_known(key):
            return True
        seen = visited.visit([key])[0]
        self._outage.answered()
        if seen:
            return not (redirected and visited.is_one_page(key, kept_keys(request)))
        return self._known.was_unasked(self._fingerprint(request))

    def _discovery_seen(self, request: Request) -> bool:
        """True if this run has fetched a document that lists pages. A redirect to itself doesn't count."""
        fingerprint = self._fingerprint(request)
        if fingerprint in self._discovered and not leads_back(request, self._fingerprint):
            return True
        self._discovered.add(fingerprint)
        keep_discovery(request)
        return False

    def _not_asked(self, request: Request, error: Exception) -> bool:
        if self._options.on_error == "new":
            self._outage.failed(1, "fetched, each at most once in this run", str(error))
            back = is_redirected(request) and leads_back(request, self._fingerprint)
            if not back and not self._known.let_through_unasked(self._fingerprint(request)):
                return True
            self._count("unseen/unknown")
            return False
        self._outage.failed(1, "not fetched", str(error))
        self._count("unseen/dropped")
        if self._options.on_error == "close" and self._crawler is not None:
            close_spider(self._crawler, "unseen_unavailable")
        return True

    def log(self, request: Request, spider: Spider) -> None:
        logger.debug("Filtered a request that was already seen: %s", request)
        for stat in ("bloomfilter/filtered", "dupefilter/filtered"):
            self._count(stat)

    def forget(self, *requests: "str | Request") -> None:
        """Forgets URLs, or requests with any method."""
        found = [Request(one) if isinstance(one, str) else one for one in requests]
        visited = self._asked()
        for request in found:
            self._known.forget(self._fingerprint(request))
        visited.forget([visited.key_of(request) for request in found])

    def clear(self) -> None:
        """
        scrapy-redis calls this when it closes or flushes. Keeps the contents of the set, because other crawls may share
        it.
        """
        logger.info("The visited set keeps its contents. UNSEEN_CLEAR_ON_START clears it")

    def close(self, reason: str = "") -> None:
        if self._visited is not None:
            self._visited.close()

    def _asked(self) -> Visited:
        if self._visited is None:
            spider = getattr(self._crawler, "spider", None)
            self._options = options_of(self._settings, self._name or getattr(spider, "name", "crawl"))
            # This filter sees each request once and never learns its result.
            visited_when = self._settings.get("UNSEEN_VISITED_WHEN") or "scheduled"
            if visited_when != "scheduled":
                raise SettingError(f'UNSEEN_VISITED_WHEN = "{visited_when}" needs SCHEDULER = "scrapy_unseen.Scheduler"; DupeFilter supports "scheduled" only')
            fingerprinter: Any = getattr(self._crawler, "request_fingerprinter", None)
            self._fingerprint = fingerprinter.fingerprint if fingerprinter else fingerprint
            self._visited = Visited(self._options, self._fingerprint)
        if not self._is_open:
            self._open(self._visited)
            self._is_open = True
        return self._visited

    def _open(self, visited: Visited) -> None:
        try:
            visited.open()
        except ServiceUnavailable as error:
            # A set that must be cleared first can't be used yet.
            if self._options.on_error == "close" or self._options.clear_on_start:
                raise
            logger.error("Unseen can't create the set now: %s", error)

    def _count(self, stat: str) -> None:
        stats: Any = getattr(self._crawler, "stats", None)
        if stats is not None:
            stats.inc_value(stat, spider=getattr(self._crawler, "spider", None))
