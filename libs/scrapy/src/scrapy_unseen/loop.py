"""Threads and timers, with or without Twisted's reactor. Scrapy 2.15 and later can run without it."""

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
    """Makes Scrapy's commands exit with status 1, which they do after a crawl without a spider."""
    if crawler is not None:
        crawler.spider = None


def close_spider(crawler: Crawler, reason: str) -> None:
    """Closes a crawl's spider, unless it is already closing."""
    engine: Any = crawler.engine
    slot = slot_of(crawler)
    if slot is None or slot.closing is not None:
        return
    if hasattr(engine, "close_spider_async"):
        deferred_from_coro(engine.close_spider_async(reason=reason))
    else:
        engine.close_spider(crawler.spider, reason)


def slot_of(crawler: Crawler) -> Any:
    """The engine's state for the open spider."""
    engine = crawler.engine
    return getattr(engine, "_slot", None) or getattr(engine, "slot", None)


def call_later(seconds: float, act: Callable[[], None]) -> Any:
    """Calls a function later. Returns an object with ``cancel``, which works until the call."""
    if _call_later is None:
        from twisted.internet import reactor

        return reactor.callLater(seconds, act)
    return _call_later(seconds, act)


def at_shutdown(act: Callable[[], None]) -> None:
    """
    Calls a function when Twisted's reactor starts to stop, before it waits for its threads. Without a reactor, never
    calls it.
    """
    if _is_reactor_installed():
        from twisted.internet import reactor

        reactor.addSystemEventTrigger("before", "shutdown", act)
