"""The service goes away in mid-crawl: behind a relay that can be shut and opened."""

import socket
import tempfile
import threading
import unittest
from typing import Any, Dict, List
from urllib.parse import urlsplit

from tests.support import UNSEEN, Site, call, crawl, ended, fresh_name, start_crawl, until

PAGES = 200
#: After so many pages the service goes away.
BEFORE = 40
#: Where the crawl does not begin if the set is not made in time, which takes long on a machine that has much to do.
LONGER = 3


class Relay:
    """Passes connections on to the service. While it is shut, nothing listens, and nothing passes."""

    def __init__(self) -> None:
        parts = urlsplit(UNSEEN)
        self._target = (parts.hostname or "", parts.port or 80)
        self._sockets: List[socket.socket] = []
        self._lock = threading.Lock()
        self._port = 0
        self.open()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def open(self) -> None:
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", self._port))
        listener.listen()
        self._port = listener.getsockname()[1]
        self._listener = listener
        threading.Thread(target=self._accept, args=(listener,), daemon=True).start()

    def shut(self) -> None:
        for end in (self._listener, *self._take()):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def _take(self) -> List[socket.socket]:
        with self._lock:
            ends, self._sockets = self._sockets, []
        return ends

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            server = socket.create_connection(self._target)
            with self._lock:
                self._sockets += [client, server]
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=_pass, args=(source, target), daemon=True).start()


def _pass(source: socket.socket, target: socket.socket) -> None:
    try:
        while True:
            data = source.recv(65_536)
            if not data:
                break
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


class UnavailableTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.relay = Relay()
        self.addCleanup(self.relay.shut)
        self.pages = [self.site.page(i) for i in range(PAGES)]

    def settings(self, on_error: str, timeout: float) -> Dict[str, Any]:
        return {
            "UNSEEN_URL": self.relay.url,
            "UNSEEN_SET": fresh_name(),
            "UNSEEN_ON_ERROR": on_error,
            "UNSEEN_TIMEOUT": timeout,
            # So that there are many questions.
            "UNSEEN_BATCH_SIZE": 2,
        }

    def shut_after(self, pages: int) -> threading.Event:
        shut = threading.Event()

        def on_hit(_: str) -> None:
            if not shut.is_set() and sum(self.site.hits.values()) >= pages:
                shut.set()
                self.relay.shut()

        self.site.on_hit = on_hit
        return shut

    def test_a_service_that_is_back_in_time_costs_no_page_and_none_twice(self) -> None:
        for on_error in ("new", "seen", "close"):
            with self.subTest(on_error=on_error):
                self.site.hits.clear()
                shut = self.shut_after(BEFORE)
                crawling = start_crawl(self.pages, self.settings(on_error, 60), slow=True)
                until("the service is away", shut.is_set)
                self.relay.open()
                stats = ended(crawling)
                self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
                self.assertEqual(set(self.site.hits.values()), {1})
                self.assertEqual(len(self.site.hits), PAGES)
                self.assertEqual(stats.get("unseen/unknown", 0), 0)

    def test_new_misses_no_page_and_counts_those_that_may_be_repeats(self) -> None:
        self.shut_after(BEFORE)
        stats = crawl(self.pages, self.settings("new", LONGER), slow=True)
        self.assertEqual(len(self.site.hits), PAGES, stats["log"][-3000:])
        self.assertGreater(stats["unseen/unknown"], 0)

    def test_seen_repeats_no_page_and_counts_those_that_were_dropped(self) -> None:
        self.shut_after(BEFORE)
        stats = crawl(self.pages, self.settings("seen", LONGER), slow=True)
        self.assertEqual(set(self.site.hits.values()), {1}, stats["log"][-3000:])
        self.assertGreater(stats["unseen/dropped"], 0)
        self.assertEqual(len(self.site.hits) + stats["unseen/dropped"], PAGES)

    def test_close_ends_the_crawl_and_the_next_run_fetches_the_rest(self) -> None:
        self.shut_after(BEFORE)
        settings = self.settings("close", LONGER)
        # Though the spider does not want to.
        stats = crawl(self.pages, settings, slow=True, stays=True)
        self.assertEqual(stats.get("finish_reason"), "unseen_unavailable", stats["log"][-3000:])
        first = len(self.site.hits)
        self.assertLess(first, PAGES)
        self.relay.open()
        self.site.on_hit = None
        again = crawl(self.pages, settings)
        self.assertEqual(again.get("finish_reason"), "finished", again["log"][-3000:])
        self.assertEqual(len(self.site.hits), PAGES)
        # Calls whose answers were cut off may or may not have marked: these pages are fetched rather than missed.
        twice = sum(self.site.hits.values()) - PAGES
        self.assertLessEqual(twice, stats.get("unseen/unknown", 0))

    def test_close_keeps_what_was_not_asked_about_in_a_jobdir(self) -> None:
        self.shut_after(BEFORE)
        settings = {**self.settings("close", LONGER), "JOBDIR": tempfile.mkdtemp()}
        stats = crawl(self.pages, settings, slow=True)
        self.assertEqual(stats.get("finish_reason"), "unseen_unavailable", stats["log"][-3000:])
        self.assertGreater(stats["unseen/unasked"], 0)
        first = len(self.site.hits)
        self.relay.open()
        self.site.on_hit = None
        again = crawl([], settings)
        self.assertEqual(again.get("finish_reason"), "finished", again["log"][-3000:])
        self.assertEqual(len(self.site.hits), first + stats["unseen/unasked"])
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_service_that_was_away_at_the_start_is_used_when_it_is_back(self) -> None:
        self.relay.shut()
        name = fresh_name()
        settings = {**self.settings("new", 0.5), "UNSEEN_SET": name}
        crawling = start_crawl(self.pages, settings, slow=True)
        until("pages are fetched", lambda: len(self.site.hits) > 0)
        self.relay.open()
        ended(crawling)
        self.assertEqual(len(self.site.hits), PAGES)
        self.assertGreater(call("GET", f"/v1/visited-sets/{name}")["items"], 0)


if __name__ == "__main__":
    unittest.main()
