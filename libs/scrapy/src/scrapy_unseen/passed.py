"""The requests that this run has let through. It lets none through twice while the service does not answer."""

from typing import Set

#: The last so many at most, and at least half of them: 8 bytes of each fingerprint, which take about 80 MB.
MOST_PASSED = 1_000_000


class Passed:
    """Two sets: when the newer one is full it takes the older one's place, so that no step has much to do."""

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
        # A page that is found again and again is remembered on.
        self.add(fingerprint)
        return True

    def drop(self, fingerprint: bytes) -> bool:
        """Whether it was there."""
        short = _short(fingerprint)
        found = short in self._newer or short in self._older
        self._newer.discard(short)
        self._older.discard(short)
        return found


class Run:
    """The requests that a run has let through, by their fingerprints."""

    def __init__(self) -> None:
        self._passed = Passed()
        #: Those of them that the service was not asked about.
        self._unasked = Passed()

    def let_through(self, fingerprint: bytes) -> None:
        self._passed.add(fingerprint)

    def let_through_unasked(self, fingerprint: bytes) -> bool:
        """Lets a request through without an answer, unless this run did so before: then the answer is False."""
        if self._passed.has(fingerprint):
            return False
        self._passed.add(fingerprint)
        self._unasked.add(fingerprint)
        return True

    def was_unasked(self, fingerprint: bytes) -> bool:
        """Whether a request that the service takes for new is one that this run let through unasked. The service knows it now."""
        return self._unasked.drop(fingerprint)

    def forget(self, fingerprint: bytes) -> None:
        self._passed.drop(fingerprint)
        self._unasked.drop(fingerprint)


def _short(fingerprint: bytes) -> int:
    return int.from_bytes(fingerprint[:8], "big")
