"""Threads and timers, with Twisted's reactor and without it, as Scrapy 2.15 and later can run."""

from typing import Any, Callable, Optional

from scrapy.crawler import Crawler
from scrapy.utils.defer import deferred_from_coro
from twisted.internet import defer, threads

try:
    from scrapy.utils.asyncio import call_later as _call_later
    from scrapy.utils.asyncio import run_in_thread as _run_in_thread
except ImportError:
    _call_later = _run_in_thread = None

try:
    from scrapy.utils.reactor import is_reactor_installed as _is_reactor_installed
except ImportError:

    def _is_reactor_installed() -> bool:
        return True


def in_thread(act: Callable[[], Any]) -> "defer.Deferred[Any]":
    """Calls a blocking function in a thread."""
    if _run_in_thread is None:
        return threads.deferToThread(act)
    return deferred_from_coro(_run_in_thread(act))


def fail_opening(crawler: Optional[Crawler]) -> None:
    """Scrapy's commands exit with 1 if a crawl that has ended has no spider."""
    if crawler is not None:
        crawler.spider = None


def close_spider(crawler: Crawler, reason: str) -> None:
    """Closes the spider of a crawl, unless it is being closed."""
    engine: Any = crawler.engine
    slot = slot_of(crawler)
    if slot is None or slot.closing is not None:
        return
    if hasattr(engine, "close_spider_async"):
        deferred_from_coro(engine.close_spider_async(reason=reason))
    else:
        engine.close_spider(crawler.spider, reason)


def slot_of(crawler: Crawler) -> Any:
    """What the engine knows of the spider that is open."""
    engine = crawler.engine
    return getattr(engine, "_slot", None) or getattr(engine, "slot", None)


def call_later(seconds: float, act: Callable[[], None]) -> Any:
    """Calls a function later. What is answered has ``cancel``, for as long as it has not been called."""
    if _call_later is None:
        from twisted.internet import reactor

        return reactor.callLater(seconds, act)
    return _call_later(seconds, act)


def at_shutdown(act: Callable[[], None]) -> None:
    """Calls a function when Twisted's reactor begins to stop, before it waits for its threads. Without a reactor it is not called."""
    if _is_reactor_installed():
        from twisted.internet import reactor

        reactor.addSystemEventTrigger("before", "shutdown", act)
