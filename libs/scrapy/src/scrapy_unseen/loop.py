"""Threads and timers, with Twisted's reactor and without it, as Scrapy 2.15 and later can run."""

from typing import Any, Callable

from scrapy.utils.defer import deferred_from_coro
from twisted.internet import defer, threads

try:
    from scrapy.utils.asyncio import call_later as _call_later
    from scrapy.utils.asyncio import run_in_thread as _run_in_thread
except ImportError:
    _call_later = _run_in_thread = None


def in_thread(act: Callable[[], Any]) -> "defer.Deferred[Any]":
    """What a blocking function answers, which is called in a thread."""
    if _run_in_thread is None:
        return threads.deferToThread(act)
    return deferred_from_coro(_run_in_thread(act))


def call_later(seconds: float, act: Callable[[], None]) -> Any:
    """Calls a function later. What is answered has ``cancel``, for as long as it has not been called."""
    if _call_later is None:
        from twisted.internet import reactor

        return reactor.callLater(seconds, act)
    return _call_later(seconds, act)
