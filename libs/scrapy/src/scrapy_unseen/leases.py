"""A crawl's leases: each lease's requests, and when it may be acknowledged."""

from collections import Counter
from typing import Dict, Iterable, List, NamedTuple, Optional, Set, Tuple

from scrapy.http import Request

from .kept_keys import Key


class Ends(NamedTuple):
    """The end of a crawl: leases to acknowledge, leases to release, and keys to forget."""

    done: List[str]
    held: List[str]
    keys: List[Key]


class Again(NamedTuple):
    """
    Pages that come back: the seconds for each lease, and the targets of their redirects. The set must forget the targets.
    Otherwise, the crawl would drop them as seen when the pages come back.
    """

    after: Dict[str, int]
    targets: List[Key]


class Leases:
    """
    A lease is done when all its requests are done. It may be acknowledged when the service has answered the batch with
    the last of its links. If a batch fails, any page that was open then may have links that are not in the queue. The
    crawl holds the leases of these pages until it ends, or until it has nothing left to do but wait for other crawls.
    The next crawl fetches these pages again.
    """

    def __init__(self) -> None:
        self._lease_of: Dict[Request, str] = {}
        self._requests: "Counter[str]" = Counter()
        #: Redirect targets that this crawl has visited. Releasing the lease forgets them.
        self._targets: Dict[str, List[Key]] = {}
        #: Finished leases, each with the batch whose answer it needs.
        self._done: Dict[str, int] = {}
        self._incomplete: Set[str] = set()
        #: Leases of pages that the crawl had already scheduled by itself.
        self._unasked: Set[str] = set()
        #: Leases of pages whose last retry has failed. These pages return to the queue.
        self._failed: Set[str] = set()
        #: Leases of pages whose hosts asked crawls to wait, with the seconds. These pages return to the queue.
        self._postponed: Dict[str, int] = {}
        #: Leases of pages that come back after their acknowledgement, with the seconds.
        self._again: Dict[str, int] = {}
        self._batch = 0
        self._unanswered: "Counter[int]" = Counter()

    def __len__(self) -> int:
        return len(self._requests) + len(self._done)

    def __contains__(self, lease: str) -> bool:
        return lease in self._requests

    def add(self, leases: Iterable[str]) -> None:
        self._requests.update({lease: 0 for lease in leases})

    def remove(self, lease: str) -> None:
        """Removes a lease that has expired or was released elsewhere."""
        del self._requests[lease]
        self._incomplete.discard(lease)
        self._failed.discard(lease)
        self._postponed.pop(lease, None)
        self._again.pop(lease, None)
        self._unasked.discard(lease)
        self._targets.pop(lease, None)

    def hold_unasked(self, lease: str) -> None:
        """
        Adds the lease of a page that the crawl fetches without it. If the crawl finishes, it acknowledges this lease at
        its end.
        """
        self._unasked.add(lease)

    def remove_lost(self, leases: Iterable[str]) -> None:
        """Removes expired leases, except those with requests in progress."""
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
        """Returns True if this was the last request of its lease. The lease then waits to be acknowledged, or to be
        released if its page has failed or is postponed.
        """
        lease = self._lease_of.pop(request, None)
        if lease is None:
            return False
        self._requests[lease] -= 1
        if self._requests[lease] > 0:
            return False
        if lease in self._failed or lease in self._postponed:
            return True
        if lease in self._incomplete:
            return False
        del self._requests[lease]
        # The next batch checks the pending links.
        self._done[lease] = self._batch + 1
        return True

    def fail(self, lease: str) -> None:
        self._failed.add(lease)

    def postpone(self, lease: str, seconds: int) -> None:
        self._postponed[lease] = max(seconds, self._postponed.get(lease, 0))

    def come_back(self, lease: str, seconds: int) -> None:
        """Makes the page come back this long after its lease is acknowledged. 0: never."""
        if seconds:
            self._again[lease] = seconds
        else:
            self._again.pop(lease, None)

    def again(self, leases: Iterable[str]) -> Again:
        """For leases whose pages come back, the seconds."""
        after = {lease: self._again[lease] for lease in leases if lease in self._again}
        return Again(after, [key for lease in after for key in self._targets.get(lease, ())])

    def take_failed(self) -> Tuple[List[str], List[Key]]:
        """Takes the failed leases without requests, and their redirect targets."""
        failed = [lease for lease in self._failed if self._requests[lease] == 0]
        return failed, self._remove_all(failed)

    def take_postponed(self) -> Tuple[Dict[str, int], List[Key]]:
        """Takes the postponed leases without requests, with their seconds, and their redirect targets."""
        postponed = {lease: seconds for lease, seconds in self._postponed.items() if self._requests[lease] == 0}
        return postponed, self._remove_all(postponed)

    def _remove_all(self, leases: Iterable[str]) -> List[Key]:
        """Returns their redirect targets."""
        keys = [key for lease in leases for key in self._targets.get(lease, ())]
        for lease in leases:
            self.remove(lease)
        return keys

    def take_idle(self) -> Ends:
        """When all pages are fetched, takes the leases that would be held to the end. The leases in ``done`` stay
        held."""
        others = self._failed | self._unasked | set(self._postponed)
        held = [lease for lease, count in self._requests.items() if not count and lease not in others]
        return Ends(sorted(self._unasked), held, self._remove_all(held))

    def add_target(self, request: Request, key: Key) -> None:
        self._targets.setdefault(self._lease_of[request], []).append(key)

    def remove_target(self, request: Request, key: Key) -> None:
        self._targets[self._lease_of[request]].remove(key)

    # Batches.

    def begin_batch(self) -> None:
        self._batch += 1

    def asked(self) -> int:
        """Counts a call in the current batch. Returns the batch's number for ``answered``."""
        self._unanswered[self._batch] += 1
        return self._batch

    def answered(self, batch: int) -> None:
        """Counts the end of a call in a batch, with or without an answer."""
        self._unanswered[batch] -= 1
        if not self._unanswered[batch]:
            del self._unanswered[batch]

    def hold_all(self) -> None:
        """Prevents all current leases from being acknowledged, because a batch has failed."""
        self._requests.update({lease: 0 for lease in self._done})
        self._done.clear()
        self._incomplete.update(self._requests)

    # Acknowledgements.

    def has_done(self) -> bool:
        return bool(self._done)

    def take_acknowledgeable(self) -> Dict[str, int]:
        """Takes the leases to acknowledge now. ``put_back`` returns them if the call fails."""
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
            self._again.pop(lease, None)

    def held(self) -> List[str]:
        """All leases that haven't been acknowledged."""
        return [*self._requests, *self._done]

    def ends(self, finished: bool = False) -> Ends:
        """Returns the end, once all batches have answers. ``finished``: every scheduled page has been fetched."""
        unasked = self._unasked if finished else set()
        held = [lease for lease in self._requests if lease not in unasked]
        return Ends([*self._done, *sorted(unasked)], held, [key for lease in held for key in self._targets.get(lease, ())])
