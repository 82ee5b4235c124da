"""The leases of a crawl: which requests came of each, and when each may be acknowledged."""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from scrapy.http import Request

from .marks import Key


class Ends(NamedTuple):
    """How a crawl that closes gives its leases up: those to acknowledge, those to release, and the keys to make unseen."""

    done: List[str]
    held: List[str]
    keys: List[Key]


class Leases:
    """
    A lease is done when all requests that came of it are. It may be acknowledged when the service has answered the batch in
    which the last of its links were asked about. If a batch fails, any page that was open then may have links that are not
    in the queue. Its lease is held to the end of the crawl, or until the crawl only waits for others, and the next crawl
    fetches the page again.
    """

    def __init__(self) -> None:
        self._lease_of: Dict[Request, str] = {}
        self._requests: "Counter[str]" = Counter()
        #: Targets of redirects that this crawl has marked. Giving the lease back makes them unseen.
        self._targets: Dict[str, List[Key]] = {}
        #: Leases that are done, each with the batch that must have been answered.
        self._done: Dict[str, int] = {}
        self._incomplete: Set[str] = set()
        #: Leases of pages that the crawl had let through before it got them.
        self._unasked: Set[str] = set()
        #: Leases of pages whose last retry has failed. They go back into the queue.
        self._failed: Set[str] = set()
        self._batch = 0
        self._unanswered: "Counter[int]" = Counter()

    def __len__(self) -> int:
        return len(self._requests) + len(self._done)

    def __contains__(self, lease: str) -> bool:
        return lease in self._requests

    def add(self, leases: Iterable[str]) -> None:
        self._requests.update({lease: 0 for lease in leases})

    def remove(self, lease: str) -> None:
        """Forgets a lease that is given back by other means, or that has run out."""
        del self._requests[lease]
        self._incomplete.discard(lease)
        self._failed.discard(lease)
        self._unasked.discard(lease)
        self._targets.pop(lease, None)

    def hold_unasked(self, lease: str) -> None:
        """For a page that the crawl fetches without its lease. A crawl that finishes acknowledges the lease at its end."""
        self._unasked.add(lease)

    def remove_lost(self, leases: Iterable[str]) -> None:
        """Forgets leases that have run out, but for those whose requests are under way."""
        for lease in leases:
            if lease in self._requests and self._requests[lease] == 0:
                self.remove(lease)

    # Requests.

    def of(self, request: Optional[Request]) -> Optional[str]:
        return self._lease_of.get(request) if request is not None else None

    def attach(self, request: Request, lease: str) -> None:
        self._lease_of[request] = lease
        self._requests[lease] += 1

    def detach(self, request: Request) -> bool:
        """Whether this was the last request of its lease, which then waits to be acknowledged, or released if it has failed."""
        lease = self._lease_of.pop(request, None)
        if lease is None:
            return False
        self._requests[lease] -= 1
        if self._requests[lease] > 0:
            return False
        if lease in self._failed:
            return True
        if lease in self._incomplete:
            return False
        del self._requests[lease]
        # Links that wait now are asked about with the next batch.
        self._done[lease] = self._batch + 1
        return True

    def fail(self, lease: str) -> None:
        self._failed.add(lease)

    def take_failed(self) -> Tuple[List[str], List[Key]]:
        """Takes the leases that have failed and have no request left, and the targets of their redirects."""
        failed = [lease for lease in self._failed if self._requests[lease] == 0]
        keys = [key for lease in failed for key in self._targets.get(lease, ())]
        for lease in failed:
            self.remove(lease)
        return failed, keys

    def take_idle(self) -> Ends:
        """Takes leases that would be held to the end, when all pages are fetched. Those of ``done`` are still held."""
        others = self._failed | self._unasked
        held = [lease for lease, count in self._requests.items() if not count and lease not in others]
        keys = [key for lease in held for key in self._targets.get(lease, ())]
        for lease in held:
            self.remove(lease)
        return Ends(sorted(self._unasked), held, keys)

    def add_target(self, request: Request, key: Key) -> None:
        self._targets.setdefault(self._lease_of[request], []).append(key)

    def remove_target(self, request: Request, key: Key) -> None:
        self._targets[self._lease_of[request]].remove(key)

    # Batches.

    def begin_batch(self) -> None:
        self._batch += 1

    def asked(self) -> int:
        """Counts a call of the current batch, whose number ``answered`` takes."""
        self._unanswered[self._batch] += 1
        return self._batch

    def answered(self, batch: int) -> None:
        """A call of a batch has ended, with an answer or without."""
        self._unanswered[batch] -= 1
        if not self._unanswered[batch]:
            del self._unanswered[batch]

    def hold_all(self) -> None:
        """A batch has failed: no lease of now is acknowledged."""
        self._requests.update({lease: 0 for lease in self._done})
        self._done.clear()
        self._incomplete.update(self._requests)

    # Acknowledgements.

    def has_done(self) -> bool:
        return bool(self._done)

    def take_acknowledgeable(self) -> Dict[str, int]:
        """Takes the leases to acknowledge now. ``put_back`` returns them if that fails."""
        oldest = min(self._unanswered, default=self._batch + 1)
        ready = {lease: batch for lease, batch in self._done.items() if batch <= self._batch and batch < oldest}
        for lease in ready:
            del self._done[lease]
        return ready

    def put_back(self, leases: Dict[str, int]) -> None:
        self._done.update(leases)

    def acknowledged(self, leases: Iterable[str]) -> None:
        for lease in leases:
            self._targets.pop(lease, None)

    def held(self) -> List[str]:
        """All leases that are not acknowledged."""
        return [*self._requests, *self._done]

    def ends(self, finished: bool = False) -> Ends:
        """Asked for once all batches are answered. ``finished``: every page that was let through has been fetched."""
        unasked = self._unasked if finished else set()
        held = [lease for lease in self._requests if lease not in unasked]
        return Ends([*self._done, *sorted(unasked)], held, [key for lease in held for key in self._targets.get(lease, ())])
