"""The visited set of a crawl: what is asked, marked and forgotten there."""

import logging
import threading
import time
from collections import OrderedDict
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence

from scrapy.http import Request

from .options import REQUESTS, Options
from .service import Service, ServiceError, path_of

logger = logging.getLogger(__name__)

#: Keys that are remembered between two questions.
MOST_CACHED = 200_000
#: Entries of one call.
BATCH = 1_000


class Key(NamedTuple):
    """What a request is known by: a URL in the visited set, or a fingerprint in the filter beside it."""

    is_url: bool
    text: str


class Visited:
    """Blocking, and safe in several threads. ``fingerprint`` tells a request from others, as Scrapy does."""

    def __init__(self, options: Options, fingerprint: Callable[[Request], bytes]) -> None:
        self._options = options
        self._fingerprint = fingerprint
        self._service = Service(options.url, options.api_key, options.timeout)
        self._cache = _Cache(options.cache_seconds)
        name = options.set_name
        self._set = path_of("visited-sets", name)
        self._filter = path_of("filters", name + REQUESTS)
        self._has_filter = False
        self._making = threading.Lock()

    def open(self) -> None:
        """Makes the set if there is none. One that is there already is used as it is."""
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

    def key_of(self, request: Request) -> Key:
        # A visited set takes no URLs such as those of ftp and of data.
        if self._options.key == "url" and request.method == "GET" and request.url.startswith(("http:", "https:")):
            return Key(True, request.url)
        return Key(False, self._fingerprint(request).hex())

    def is_known(self, key: Key) -> bool:
        """Whether a key was seen a short while ago, so that it need not be asked about."""
        return self._cache.has(key)

    def ask(self, keys: Sequence[Key]) -> List[bool]:
        """Whether keys were seen, in their order. Marks nothing."""
        return self._both(keys, "check", "check", lambda word: word == "seen", lambda there: bool(there))

    def visit(self, keys: Sequence[Key]) -> List[bool]:
        """Marks keys, and answers whether they were seen before."""
        seen = self._both(keys, "visit", "add", lambda word: word == "seen", lambda fresh: not fresh)
        for key in keys:
            self._cache.add(key)
        return seen

    def forget(self, keys: Sequence[Key]) -> None:
        """Makes keys unseen."""
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
        urls = [i for i, key in enumerate(keys) if key.is_url]
        items = [i for i, key in enumerate(keys) if not key.is_url]
        if items:
            self._need_filter()
        for places, path, member, read in (
            (urls, f"{self._set}/urls/{of_urls}", "urls", url_result),
            (items, f"{self._filter}/items/{of_items}", "items", item_result),
        ):
            for some in _blocks(places):
                answer = self._post(path, {member: [keys[i].text for i in some]})
                found = answer.get("results") if isinstance(answer, dict) else None
                if not isinstance(found, list) or len(found) != len(some):
                    raise ServiceError(200, "NO_UNSEEN_SERVICE", f"{path} was not answered with a result for each")
                results.update((i, read(result)) for i, result in zip(some, found))
        return [results[i] for i in range(len(keys))]

    def _post(self, path: str, body: Dict[str, Any]) -> Any:
        try:
            return self._service.post(path, body)
        except ServiceError as error:
            if error.code != "VISITED_SET_NOT_FOUND":
                raise
        # The service was away when the crawl began, or somebody has dropped the set.
        self._make()
        return self._service.post(path, body)

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
            logger.info("%s is used as it is: %s", spec["name"], error)


class _Cache:
    """Keys that were marked a short while ago."""

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


def _blocks(places: List[int]) -> Iterable[List[int]]:
    for start in range(0, len(places), BATCH):
        yield places[start : start + BATCH]
