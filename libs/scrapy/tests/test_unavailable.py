"""The service becomes unavailable mid-crawl, behind a relay that can be shut and opened."""

import signal
import socket
import tempfile
import threading
import unittest
from typing import Any, Dict, List, Optional
from urllib.error import HTTPError
from urllib.parse import urlsplit

from tests.support import LONGEST, ROOT, UNSEEN, Site, call, crawl, ended, fresh_name, start_crawl, start_scrapy, until

PAGES = 60
#: The service becomes unavailable after this many pages.
BEFORE = 20
#: For crawls that start only if the set is created in time, which takes long on a busy machine.
LONGER = 3


class Relay:
    """Forwards connections to the service. While it is shut, it accepts none and forwards nothing."""

    def __init__(self) -> None:
        parts = urlsplit(UNSEEN)
        self._target = (parts.hostname or "", parts.port or 80)
        self._sockets: List[socket.socket] = []
        self._lock = threading.Lock()
        self._port = 0
        #: If set, connections are accepted and not forwarded. Each one releases the semaphore.
        self.held: Optional[threading.Semaphore] = None
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
            if self.held is not None:
                with self._lock:
                    self._sockets.append(client)
                self.held.release()
                continue
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


def is_there(path: str) -> bool:
    try:
        return bool(call("GET", path))
    except HTTPError:
        return False


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
            # A small batch size makes many calls.
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
                until("the service is unavailable", shut.is_set)
                self.relay.open()
                stats = ended(crawling)
                self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
                self.assertEqual(set(self.site.hits.values()), {1})
                self.assertEqual(len(self.site.hits), PAGES)
                self.assertEqual(stats.get("unseen/unknown", 0), 0)

    def test_new_misses_no_page_and_counts_possible_repeats(self) -> None:
        self.shut_after(BEFORE)
        settings = self.settings("new", LONGER)
        stats = crawl(self.pages, settings, slow=True)
        self.assertGreaterEqual(self.queued(settings), PAGES - len(self.site.hits), stats["log"][-3000:])
        self.assertGreater(stats["unseen/unknown"], 0)

    def queued(self, settings: Dict[str, Any]) -> int:
        """
        The number of pages that the next run finds in the queue: those queued before the service became unavailable.
        """
        queue = call("GET", f"/v1/visited-sets/{settings['UNSEEN_SET']}")["queue"]
        return int(queue["waiting"] + queue["leased"] + queue["delayed"])

    def test_new_fetches_no_page_twice_and_logs_once(self) -> None:
        pages = 30
        self.site.links = lambda path: [f"/page/{i}" for i in range(pages)]
        scrapys = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_unseen.DupeFilter"}
        for kind, reason in (({}, "unseen_unavailable"), ({"UNSEEN_VISITED_WHEN": "scheduled"}, "finished"), (scrapys, "finished")):
            for before in (0, 10):
                with self.subTest(**kind, before=before):
                    self.site.hits.clear()
                    self.relay.shut()
                    if before:
                        self.relay.open()
                        self.shut_after(before)
                    # Cache no answers.
                    settings = {**self.settings("new", 0.5), **kind, "UNSEEN_CACHE_SECONDS": 0, "UNSEEN_BATCH_SIZE": 50}
                    stats = crawl(self.pages[:1], settings, follows=True)
                    # By default, the remaining pages may be in the queue. A crawl that already held all pages has
                    # finished.
                    may_be_whole = not kind and before > 0 and len(self.site.hits) == pages
                    reasons = {reason, "finished"} if may_be_whole else {reason}
                    self.assertIn(stats.get("finish_reason"), reasons, stats["log"][-3000:])
                    self.assertEqual(set(self.site.hits.values()), {1})
                    if kind or not before:
                        self.assertEqual(len(self.site.hits), pages)
                    if not before:
                        self.assertEqual(stats["unseen/unknown"], pages)
                    self.assertLess(stats["log"].count("Unseen did not answer"), 10)

    def test_new_fetches_no_page_twice_when_the_service_is_back(self) -> None:
        self.relay.shut()
        settings = self.settings("new", LONGER)
        found = f"/v1/visited-sets/{settings['UNSEEN_SET']}"
        back = threading.Event()

        def links(path: str) -> List[str]:
            number = int(path.rpartition("/")[2])
            if number == 5:
                self.relay.open()
            if not back.is_set() and number > 5 and is_there(found):
                back.set()
            # Links to a new page until the service answers again, and to all earlier pages.
            more = [] if back.is_set() else [f"/page/{number + 1}"]
            return [*(f"/page/{i}" for i in range(number + 1)), *more]

        self.site.links = links
        stats = crawl(self.pages[:1], settings, follows=True)
        self.assertTrue(back.is_set(), stats["log"][-3000:])
        self.assertEqual(set(self.site.hits.values()), {1})
        self.assertIn("Unseen answers again", stats["log"])

    def test_ctrl_c_ends_a_crawl_whose_service_does_not_answer(self) -> None:
        self.site.links = lambda path: [f"{path}/{i}" for i in range(3)]
        for opening in (True, False):
            with self.subTest(opening=opening):
                held = threading.Semaphore(0)
                if opening:
                    self.relay.held = held
                # Longer than a test waits for a crawl to end.
                crawling = start_crawl(self.pages[:1], self.settings("new", 3_600), follows=True)
                if not opening:
                    self.relay.held = None
                    until("pages are fetched", lambda: len(self.site.hits) > BEFORE)
                    self.relay.shut()
                    self.relay.held = held
                    self.relay.open()
                held.acquire()
                crawling.signal(signal.SIGINT)
                stats = ended(crawling)
                self.assertEqual(stats["exit"], 0, stats["log"][-3000:])
                if not opening:
                    self.assertEqual(stats.get("finish_reason"), "shutdown")
                    self.assertIn("Spider closed (shutdown)", stats["log"])

    def test_scrapy_fails_if_its_spider_was_never_opened(self) -> None:
        self.relay.shut()
        name = fresh_name()
        call("POST", "/v1/filters", {"name": name, "type": "counting", "capacity": 1_000, "errorRate": 1e-6})
        away = {"UNSEEN_URL": self.relay.url, "UNSEEN_ON_ERROR": "close", "UNSEEN_TIMEOUT": "0.2"}
        scheduler = {"SCHEDULER": "scrapy_unseen.Scheduler"}
        for settings, exit_code in (
            ({**scheduler, **away}, 1),
            ({"DUPEFILTER_CLASS": "scrapy_unseen.DupeFilter", **away}, 1),
            ({**scheduler, "UNSEEN_URL": UNSEEN, "UNSEEN_SET": name}, 1),
            ({**scheduler, "UNSEEN_URL": self.site.url}, 1),
            ({**scheduler, "UNSEEN_SET": "No Name"}, 1),
            ({**scheduler, "UNSEEN_URL": UNSEEN, "UNSEEN_SET": fresh_name()}, 0),
        ):
            with self.subTest(**settings):
                given = [f"-s{key}={value}" for key, value in settings.items()]
                ran = ended(start_scrapy(["runspider", *given, str(ROOT / "tests" / "nothing.py")]))
                self.assertEqual(ran["exit"], exit_code, ran["log"][-3000:])

    def test_seen_repeats_no_page_and_counts_dropped_ones(self) -> None:
        self.shut_after(BEFORE)
        settings = self.settings("seen", LONGER)
        stats = crawl(self.pages, settings, slow=True)
        self.assertEqual(set(self.site.hits.values()), {1}, stats["log"][-3000:])
        self.assertGreater(stats["unseen/dropped"], 0)
        told = len(self.site.hits) + stats["unseen/dropped"]
        self.assertLessEqual(told, PAGES)
        self.assertGreaterEqual(self.queued(settings), PAGES - told)

    def test_close_ends_the_crawl_and_the_next_run_fetches_the_rest(self) -> None:
        for visited_when in ("queued", "scheduled"):
            with self.subTest(visited_when=visited_when):
                self.site.hits.clear()
                self.shut_after(BEFORE)
                settings = {**self.settings("close", LONGER), "UNSEEN_VISITED_WHEN": visited_when, "UNSEEN_LEASE_SECONDS": 5}
                # The crawl ends even if the spider refuses to close.
                stats = crawl(self.pages, settings, slow=True, stays=True)
                self.assertEqual(stats.get("finish_reason"), "unseen_unavailable", stats["log"][-3000:])
                first = len(self.site.hits)
                self.assertLess(first, PAGES)
                self.relay.open()
                self.site.on_hit = None
                again = crawl(self.pages, settings)
                self.assertEqual(again.get("finish_reason"), "finished", again["log"][-3000:])
                self.assertEqual(len(self.site.hits), PAGES)
                # Calls without an answer may or may not have visited their pages. The crawl fetches these pages again,
                # so that it misses none.
                twice = sum(self.site.hits.values()) - PAGES
                # A page stays in the queue until all its links are queued.
                self.assertLessEqual(twice, stats.get("unseen/unknown", 0) if visited_when == "scheduled" else first)

    def test_a_page_whose_links_were_not_queued_stays_in_the_queue(self) -> None:
        # The last three are page 12's links.
        pages = 40
        self.site.links = lambda path: [f"/page/{i}" for i in range(pages) if i and (i - 1) // 3 == int(path.rpartition("/")[2])]
        shut, back = threading.Event(), threading.Event()

        def on_hit(path: str) -> None:
            # Page 12's links are checked while the service is unavailable. Page 11 keeps the spider open until it is
            # back.
            if path == "/page/11":
                back.wait(LONGEST)
            if path == "/page/12" and not shut.is_set():
                shut.set()
                self.relay.shut()

        self.site.on_hit = on_hit
        for on_error in ("close", "seen"):
            with self.subTest(on_error=on_error):
                shut.clear()
                back.clear()
                self.site.hits.clear()
                settings = {**self.settings(on_error, LONGER), "UNSEEN_BATCH_SIZE": 50, "SCHEDULER": "tests.crawl.TellsNotAnswered"}
                crawling = start_crawl(self.pages[:1], settings, follows=True)
                until("the service is unavailable", shut.is_set)
                until("the links were not answered", lambda: "links were not answered" in crawling.log())
                self.relay.open()
                back.set()
                stats = ended(crawling)
                self.assertIn("finish_reason", stats, stats["log"][-3000:])
                again = crawl(self.pages[:1], settings, follows=True)
                self.assertEqual(again.get("finish_reason"), "finished", again["log"][-3000:])
                self.assertEqual(len(self.site.hits), pages, again["log"][-3000:])

    def test_close_keeps_unchecked_requests_in_a_jobdir(self) -> None:
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

    def test_a_service_that_was_unavailable_at_the_start_is_used_when_it_is_back(self) -> None:
        self.relay.shut()
        settings = self.settings("new", LONGER)
        path = f"/v1/visited-sets/{settings['UNSEEN_SET']}"

        def links(page: str) -> List[str]:
            number = int(page.rpartition("/")[2])
            if number == 1:
                self.relay.open()
            return [] if is_there(path) else [f"/page/{number + 1}"]

        self.site.links = links
        stats = crawl(self.pages[:1], settings, follows=True)
        self.assertTrue(is_there(path), stats["log"][-3000:])


if __name__ == "__main__":
    unittest.main()
