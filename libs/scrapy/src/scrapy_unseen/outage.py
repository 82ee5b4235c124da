"""Logs failed calls: the first one, then a summary once a minute, and the first call that succeeds again."""

import logging
import time
from typing import Callable, Optional

logger = logging.getLogger("scrapy_unseen")

EVERY_SECONDS = 60.0


class Outage:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        #: Time of the last log line. None while calls succeed.
        self._told: Optional[float] = None
        self._since_told = 0
        self._requests = 0

    def failed(self, requests: int, consequence: str, why: str) -> None:
        self._requests += requests
        self._since_told += requests
        now = self._clock()
        if self._told is not None and now - self._told < EVERY_SECONDS:
            return
        logger.error("Unseen did not answer, so %d requests are %s: %s", self._since_told, consequence, why)
        self._told = now
        self._since_told = 0

    def answered(self) -> None:
        if self._told is None:
            return
        logger.warning("Unseen answers again. Calls for %d requests failed", self._requests)
        self._told = None
        self._requests = self._since_told = 0
