"""The requests that this run has scheduled, so that it schedules none twice during an outage."""

from typing import Set

#: Remembers at least half this many requests: 8 bytes of each fingerprint, at most about 80 MB.
MOST_PASSED = 1_000_000


class Passed:
    """Two sets. When the newer one is full, it replaces the older one, so no step takes long."""

    def __init__(self, most: int = MOST_PASSED) -> None:
        self._half = most // 2
        self._newer: Set[int] = set()
        self._older: Set[int] = set()

    def add(self, fingerprint: bytes) -> None:
        self._newer.add(_short(fingerprint))
        if len(self._newer) >= self._half:
            self._older, self._newer = self._newer, set()

    def has(self, fingerprint: bytes) -> bool:
        short = _short(fingerprint)
        if short in self._newer:
            return True
        if short not in self._older:
            return False
        # Adds it to the newer set, so that a page that is found repeatedly stays in memory.
        self.add(fingerprint)
        return True

    def drop(self, fingerprint: bytes) -> bool:
        """Returns True if it was present."""
        short = _short(fingerprint)
        found = short in self._newer or short in self._older
        self._newer.discard(short)
        self._older.discard(short)
        return found


class Run:
    """The requests that a run has scheduled, by fingerprint."""

    def __init__(self) -> None:
        self._passed = Passed()
        #: Requests that were scheduled without a check.
        self._unasked = Passed()

    def let_through(self, fingerprint: bytes) -> None:
        self._passed.add(fingerprint)

    def let_through_unasked(self, fingerprint: bytes) -> bool:
        """Schedules a request without a check. Returns False if this run has already scheduled it."""
        if self._passed.has(fingerprint):
            return False
        self._passed.add(fingerprint)
        self._unasked.add(fingerprint)
        return True

    def was_unasked(self, fingerprint: bytes) -> bool:
        """
        Call it if the service reports a request as new. Returns True if this run has scheduled the request without a
        check. Later calls return False, because the service then knows the request.
        """
        return self._unasked.drop(fingerprint)

    def forget(self, fingerprint: bytes) -> None:
        self._passed.drop(fingerprint)
        self._unasked.drop(fingerprint)


def _short(fingerprint: bytes) -> int:
    return int.from_bytes(fingerprint[:8], "big")
