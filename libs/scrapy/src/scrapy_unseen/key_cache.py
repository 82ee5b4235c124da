"""The keys that a crawl visited a short while ago, so that it doesn't have to check them again."""

import threading
import time
from collections import OrderedDict

from .kept_keys import Key

#: Maximum number of cached keys.
MOST_CACHED = 200_000


class KeyCache:
    """Keys visited in the last ``seconds``. Thread-safe."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._until: "OrderedDict[Key, float]" = OrderedDict()
        self._lock = threading.Lock()

    def has(self, key: Key) -> bool:
        with self._lock:
            until = self._until.get(key)
        return until is not None and until > time.monotonic()

    def add(self, key: Key) -> None:
        if self._seconds == 0:
            return
        with self._lock:
            self._until.pop(key, None)
            self._until[key] = time.monotonic() + self._seconds
            if len(self._until) > MOST_CACHED:
                self._until.popitem(last=False)

    def drop(self, key: Key) -> None:
        with self._lock:
            self._until.pop(key, None)
