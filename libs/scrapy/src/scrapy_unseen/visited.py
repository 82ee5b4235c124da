"""A crawl's visited set: checks, visits, and forgets pages."""

import hashlib
import logging
import threading
from typing import Any, Callable, Dict, Iterable, List, Optional, Sequence, Tuple

from scrapy.http import Request

from .kept_keys import Key
from .key_cache import KeyCache
from .leases import Again
from .options import REQUESTS, Options, SettingError
from .service import Service, ServiceError, path_of

logger = logging.getLogger(__name__)

#: Number of entries per call.
BATCH = 1_000
#: Maximum size of a reason. The service refuses longer ones.
MOST_REASON_BYTES = 256
#: For each sign of Scrapy's priorities, highest first: the queue's priority.
PRIORITIES: Sequence[Tuple[int, Dict[str, str]]] = ((1, {"priority": "high"}), (0, {}), (-1, {"priority": "low"}))
NONE = Again({}, [])
#: Maximum number of URLs in one explain call.
MOST_EXPLAINED = 100


class Visited:
    """Blocking and thread-safe. ``fingerprint`` identifies a request, as in Scrapy."""

    def __init__(self, options: Options, fingerprint: Callable[[Request], bytes]) -> None:
        self._options = options
        self._fingerprint = fingerprint
        self._service = Service(options.url, options.api_key, options.timeout)
        self._cache = KeyCache(options.cache_seconds)
        name = options.set_name
        self._set = path_of("visited-sets", name)
        self._filter = path_of("filters", name + REQUESTS)
        self._has_filter = False
        self._making = threading.Lock()
        #: True if the set has `perHost`. None: not known yet.
        self._knows_hosts: Optional[bool] = None
        #: True if the set's URLs expire. None: not known yet.
        self._ages: Optional[bool] = None

    def open(self) -> None:
        """Creates the set if it doesn't exist. Leaves an existing set unchanged."""
        self._make()
        if self._options.clear_on_start:
            self._service.post(self._set + "/clear")
            try:
                self._service.post(self._filter + "/clear")
            except ServiceError as error:
                if error.status != 404:
                    raise

    def close(self) -> None:
        self._service.close()

    def hurry(self) -> None:
        """Makes all calls end within seconds, because the crawl is closing."""
        self._service.hurry()

    def key_of(self, request: Request) -> Key:
        # A visited set doesn't accept other schemes, such as ftp and data.
        if self._options.key == "url" and request.method == "GET" and _is_http(request.url):
            return Key(True, request.url)
        return Key(False, self._fingerprint(request).hex())

    def is_known(self, key: Key) -> bool:
        """True if a key was seen a short while ago, so that no check is needed."""
        return self._cache.has(key)

    def ask(self, keys: Sequence[Key]) -> List[bool]:
        """Checks keys without visiting them. Returns whether each was seen, in order."""
        return self._both(keys, "check", "check", lambda word: word == "seen", lambda there: bool(there))

    def visit(self, keys: Sequence[Key]) -> List[bool]:
        """Visits keys. Returns whether each was seen before."""
        seen = self._both(keys, "visit", "add", lambda word: word == "seen", lambda fresh: not fresh)
        for key in keys:
            self._cache.add(key)
        return seen

    def discover(self, keys: Sequence[Key], payloads: Sequence[Optional[str]], priorities: Sequence[int]) -> List[str]:
        """
        Visits keys, and adds unseen URLs with a payload to the queue: those with a ``priority`` above 0 before all
        others, and those below 0 after all others. Returns ``queued`` for these, ``new`` for other unseen keys,
        ``seen``, and ``limited`` for URLs of a host with ``maxUrls`` in the set, which are neither visited nor queued.
        """
        results: Dict[int, str] = {}
        queued = [i for i, payload in enumerate(payloads) if payload is not None]
        for sign, how in PRIORITIES:
            for some in _blocks([i for i in queued if _sign(priorities[i]) == sign]):
                entries = [{"url": keys[i].text, "payload": payloads[i]} for i in some]
                words = self._post(f"{self._set}/urls/discover", "urls", entries, **how)
                results.update((i, "queued" if word == "new" else word) for i, word in zip(some, words) if word != "invalid")
        others = [i for i in range(len(keys)) if i not in results]
        seen = self.visit([keys[i] for i in others])
        results.update((i, "seen" if was else "new") for i, was in zip(others, seen))
        for i, key in enumerate(keys):
            if results[i] != "limited":
                self._cache.add(key)
        return [results[i] for i in range(len(keys))]

    def lease(self, most: int, seconds: int) -> List[Dict[str, Any]]:
        return list(self._service.post(f"{self._set}/queue/lease", {"max": most, "leaseSeconds": seconds})["urls"])

    def ack(self, leases: Sequence[str], again: Again = NONE) -> List[str]:
        """
        Acknowledges leases. Their pages leave the queue, or come back as ``again`` says, unless the set ages. Returns
        ``acked`` for each lease, or how it was lost.
        """
        if again.after and self._ages is None:
            self.queue()
        after = {} if self._ages else again.after
        if after:
            self.forget(again.targets)
        words: Dict[str, str] = {}
        for seconds in sorted({after.get(lease, 0) for lease in leases}):
            some = [lease for lease in leases if after.get(lease, 0) == seconds]
            how = {"againAfterSeconds": seconds} if seconds else {}
            words.update(zip(some, self._each("ack", some, **how)))
        return [words[lease] for lease in leases]

    def extend(self, leases: List[str], seconds: int) -> List[str]:
        """Returns ``extended`` for each lease, or how it was lost."""
        return self._each("extend", leases, leaseSeconds=seconds)

    def give_back(self, done: List[str], held: List[str], keys: Sequence[Key], again: Again) -> Dict[str, int]:
        """Ends all leases and forgets keys. Released pages don't count as tried. Returns the queue's counts."""
        self.ack(done, again)
        self.forget(keys)
        self._each("release", held, countAttempt=False)
        return self.queue()

    def fail(self, leases: List[str], keys: Sequence[Key], seconds: int, reason: str) -> None:
        """Releases the leases of failed pages, counts their attempts, and forgets keys. The pages return after a delay.
        """
        self.forget(keys)
        self._each("release", leases, delaySeconds=seconds, reason=reason)

    def put_off(self, leases: List[str], seconds: int, reason: str, keys: Sequence[Key] = ()) -> None:
        """Releases leases that this crawl can't use, and forgets keys. The pages return after a delay."""
        self.forget(keys)
        # Spider names may be too long for a reason.
        short = reason.encode("utf-8", "replace")[:MOST_REASON_BYTES].decode("utf-8", "ignore")
        self._each("release", leases, delaySeconds=seconds, reason=short, countAttempt=False)

    def postpone(self, leases: Dict[str, int], keys: Sequence[Key]) -> None:
        """
        Releases the leases of pages whose hosts asked crawls to wait, each with its seconds. Forgets keys. The whole host
        waits if the set has `perHost`, otherwise only the page.
        """
        self.forget(keys)
        if leases and self._knows_hosts is None:
            self.queue()
        waits = "hostDelaySeconds" if self._knows_hosts else "delaySeconds"
        for seconds in sorted(set(leases.values())):
            some = [lease for lease, own in leases.items() if own == seconds]
            self._each("release", some, **{waits: seconds}, countAttempt=False)

    def queue(self) -> Dict[str, int]:
        """Returns how many URLs in the queue are ``waiting``, ``leased``, ``delayed``, ``scheduled``, and ``dead``."""
        description = self._service.get(self._set)
        self._knows_hosts = "perHost" in description
        self._ages = "maxAgeSeconds" in description
        return dict(description["queue"])

    def _each(self, what: str, leases: List[str], **how: "int | str") -> List[str]:
        words: List[str] = []
        for start in range(0, len(leases), BATCH):
            body = {"ids": leases[start : start + BATCH], **how}
            words += self._service.post(f"{self._set}/queue/{what}", body)["results"]
        return words

    def is_one_page(self, key: Key, others: Sequence[Key]) -> bool:
        """True if a URL has the same URL key as one of the others."""
        urls = [one.text for one in (key, *others) if one.is_url]
        if not key.is_url or len(urls) == 1:
            return False
        found = self._post(f"{self._set}/urls/explain", "urls", urls[:MOST_EXPLAINED], "urls")
        own, *theirs = [one.get("key") for one in found]
        return own is not None and own in theirs

    def forget(self, keys: Sequence[Key]) -> None:
        """Forgets keys."""
        for key in keys:
            self._cache.drop(key)
        self._both(keys, "forget", "remove", bool, bool)

    def _both(
        self,
        keys: Sequence[Key],
        of_urls: str,
        of_items: str,
        url_result: Callable[[Any], bool],
        item_result: Callable[[Any], bool],
    ) -> List[bool]:
        results: Dict[int, bool] = {}
        items = {i: key.text for i, key in enumerate(keys) if not key.is_url}
        for some in _blocks([i for i, key in enumerate(keys) if key.is_url]):
            words = self._post(f"{self._set}/urls/{of_urls}", "urls", [keys[i].text for i in some])
            for i, word in zip(some, words):
                if word == "invalid":
                    # The service refused the URL, for example because it is too long. Scrapy fetches it anyway, but
                    # must not fetch it repeatedly.
                    items[i] = hashlib.sha1(keys[i].text.encode("utf-8", "replace")).hexdigest()
                else:
                    results[i] = url_result(word)
        if items:
            self._need_filter()
        for some in _blocks(sorted(items)):
            found = self._post(f"{self._filter}/items/{of_items}", "items", [items[i] for i in some])
            results.update((i, item_result(result)) for i, result in zip(some, found))
        return [results[i] for i in range(len(keys))]

    @property
    def ages(self) -> bool:
        """True if the set's URLs are known to expire."""
        return bool(self._ages)

    def _post(self, path: str, member: str, entries: Sequence[Any], answered: str = "results", **how: str) -> List[Any]:
        body = {member: entries, **how}
        try:
            answer = self._service.post(path, body)
        except ServiceError as error:
            # The set is missing: the service was unavailable when the crawl started, or the set was dropped since.
            if error.code == "VISITED_SET_NOT_FOUND":
                self._make()
            elif error.code == "FILTER_NOT_FOUND":
                self._has_filter = False
                self._need_filter()
            else:
                raise
            answer = self._service.post(path, body)
        results = answer.get(answered) if isinstance(answer, dict) else None
        if not isinstance(results, list) or len(results) != len(entries):
            raise ServiceError(200, "NO_UNSEEN_SERVICE", f"the answer to {path} does not have one result for each entry")
        return results

    def _make(self) -> None:
        self._create("visited-sets", {**self._options.spec, "name": self._options.set_name})

    def _need_filter(self) -> None:
        with self._making:
            if self._has_filter:
                return
            spec = {"capacity": self._options.spec["capacity"], "errorRate": self._options.spec.get("errorRate", 1e-4)}
            name = self._options.set_name + REQUESTS
            self._create("filters", {**spec, "name": name, "type": "counting", "growth": "auto"})
            self._has_filter = True

    def _create(self, kind: str, spec: Dict[str, Any]) -> None:
        try:
            self._service.post(f"/v1/{kind}", spec)
        except ServiceError as error:
            if error.code != "FILTER_EXISTS":
                raise
            self._must_be(kind, str(spec["name"]))
            logger.info("%s exists and is used as it is: %s", spec["name"], error)

    def _must_be(self, kind: str, name: str) -> None:
        """Raises SettingError if the name belongs to the other kind: a visited set or a filter."""
        try:
            self._service.get(path_of(kind, name))
        except ServiceError as error:
            if error.status != 404:
                # For example, the API key may not read it. The next call will show this.
                return
            other = "a filter, not a visited set" if kind == "visited-sets" else "a visited set, not a filter"
            raise SettingError(f"{name} is {other}: set UNSEEN_SET to a name other than {self._options.set_name!r}") from None


def _sign(priority: int) -> int:
    return (priority > 0) - (priority < 0)


def _is_http(url: str) -> bool:
    return url[:6].lower().startswith(("http:", "https:"))


def _blocks(places: List[int]) -> Iterable[List[int]]:
    for start in range(0, len(places), BATCH):
        yield places[start : start + BATCH]
