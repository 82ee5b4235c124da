"""Crawls of sets with `perHost`, and hosts that ask crawls to wait."""

import threading
import time
import unittest
from email.utils import formatdate
from typing import Any, Dict, List
from unittest.mock import Mock, patch

from scrapy.exceptions import IgnoreRequest
from scrapy.http import Request, Response
from scrapy.settings import Settings
from tests.support import Site, call, crawl, ended, fresh_name, start_crawl

from scrapy_unseen.middlewares import RetryAfter
from scrapy_unseen.options import SettingError, options_of
from scrapy_unseen.scheduler import Scheduler

PAGES = 6
WAIT_SECONDS = 2


class HostsTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.other = Site()
        self.addCleanup(self.other.close)
        self.times: Dict[str, List[float]] = {}
        lock = threading.Lock()

        def on_hit(path: str) -> None:
            with lock:
                self.times.setdefault(path, []).append(time.monotonic())

        self.site.on_hit = on_hit
        self.name = fresh_name()
        #: The other site under another name, because the two differ only in their ports, which aren't part of a host.
        self.elsewhere = self.other.url.replace("127.0.0.1", "localhost")

    def settings(self, **more: Any) -> Dict[str, Any]:
        return {"UNSEEN_SET": self.name, "DOWNLOADER_MIDDLEWARES": {"scrapy_unseen.RetryAfter": 560}, **more}

    def urls(self) -> List[str]:
        return [f"{base}/page/{i}" for i in range(PAGES) for base in (self.site.url, self.elsewhere)]

    def queue(self) -> Dict[str, int]:
        return dict(call("GET", f"/v1/visited-sets/{self.name}")["queue"])

    def test_a_busy_host_waits_for_all_crawls_of_the_set(self) -> None:
        self.site.busy["/page/2"] = str(WAIT_SECONDS)
        settings = self.settings(UNSEEN_PER_HOST={"maxLeased": 1})
        crawls = [start_crawl(urls, settings) for urls in (self.urls(), [])]
        both = [ended(one) for one in crawls]
        for stats in both:
            self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
            self.assertNotIn("Traceback", stats["log"])
        self.assertEqual(sum(stats.get("unseen/postponed", 0) for stats in both), 1)
        self.assertEqual(sum(stats.get("item_scraped_count", 0) for stats in both), 2 * PAGES)
        self.assertEqual({path: count for path, count in self.site.hits.items() if count > 1}, {"/page/2": 2})
        busy, *_ = self.times["/page/2"]
        # The host's pages are fetched one at a time, so every later page must have come after the wait.
        later = [at for path in self.times for at in self.times[path] if at > busy]
        self.assertGreaterEqual(min(later) - busy, WAIT_SECONDS)
        self.assertEqual({state: count for state, count in self.queue().items() if count}, {})

    def test_a_crawl_keeps_the_pace_of_the_set(self) -> None:
        stats = crawl(self.urls(), self.settings(UNSEEN_PER_HOST={"delaySeconds": 1, "maxLeased": 1}))
        self.assertEqual(stats.get("item_scraped_count"), 2 * PAGES, stats["log"][-3000:])
        times = sorted(at for hits in self.times.values() for at in hits)
        self.assertGreaterEqual(min(after - before for before, after in zip(times, times[1:])), 1)

    def test_in_other_sets_only_the_page_waits(self) -> None:
        self.site.busy["/page/2"] = "3600"
        stats = crawl(self.urls(), self.settings())
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        # The number of pages that the crawl had already fetched depends on its speed. The rest must wait.
        postponed = stats.get("unseen/postponed")
        self.assertEqual((stats.get("item_scraped_count"), stats.get("unseen/left")), (2 * PAGES - postponed, postponed))
        self.assertEqual(self.queue()["delayed"], postponed)
        self.assertEqual(self.site.hits["/page/2"], 1)

    def test_pages_of_a_host_beyond_its_limit_are_dropped(self) -> None:
        stats = crawl(self.urls(), self.settings(UNSEEN_PER_HOST={"maxUrls": 2}))
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        self.assertEqual((len(self.site.hits), len(self.other.hits)), (2, 2))
        self.assertEqual(stats.get("unseen/limited"), 2 * (PAGES - 2))


class RetryAfterTest(unittest.TestCase):
    def setUp(self) -> None:
        scheduler: Any = Scheduler.__new__(Scheduler)
        self.postpone = scheduler.postpone = Mock(return_value=True)
        self.middleware = RetryAfter(Mock(unseen=scheduler))
        self.request = Request("http://a.example:81/1")

    def answer(self, status: int, value: str) -> Any:
        return self.middleware.process_response(self.request, Response(self.request.url, status, {"Retry-After": value}))

    def test_reads_seconds_and_dates(self) -> None:
        for value, least, most in [("7", 7, 7), ("9999999", 86_400, 86_400), (formatdate(time.time() + 600, usegmt=True), 1, 600)]:
            with self.subTest(value), self.assertRaises(IgnoreRequest):
                self.answer(429, value)
            ((request, seconds), _) = self.postpone.call_args
            self.assertIs(request, self.request)
            self.assertTrue(least <= seconds <= most, seconds)

    def test_leaves_other_answers_to_other_middlewares(self) -> None:
        for status, value in [(503, "soon"), (503, ""), (503, "0"), (429, "Wed, 21 Oct 2015 07:28:00 GMT"), (429, "²"), (200, "7"), (500, "7")]:
            with self.subTest(status=status, value=value):
                self.assertEqual(self.answer(status, value).status, status)
        self.postpone.assert_not_called()

    def test_postpones_more_pages_of_the_host(self) -> None:
        with self.assertRaises(IgnoreRequest):
            self.answer(503, "60")
        self.middleware.process_request(Request("http://b.example/"))
        with self.assertRaises(IgnoreRequest):
            self.middleware.process_request(Request("http://A.example/2"))
        self.assertEqual(self.postpone.call_count, 2)

    def test_remembers_a_limited_number_of_hosts(self) -> None:
        with patch("scrapy_unseen.middlewares.MOST_HOSTS", 2):
            for host, seconds in [("a", 60), ("b", 30), ("c", 90), ("c", 91)]:
                self.request = Request(f"http://{host}.example/")
                with self.assertRaises(IgnoreRequest):
                    self.answer(503, str(seconds))
        self.middleware.process_request(Request("http://b.example/"))
        for host in ("a", "c"):
            with self.assertRaises(IgnoreRequest):
                self.middleware.process_request(Request(f"http://{host}.example/"))

    def test_lets_pages_pass_that_the_queue_does_not_have(self) -> None:
        self.postpone.return_value = False
        self.assertEqual(self.answer(503, "60").status, 503)
        self.middleware.process_request(self.request)


class PerHostSettingTest(unittest.TestCase):
    def test_is_a_dict_or_json(self) -> None:
        for value in ({"delaySeconds": 2}, '{"delaySeconds": 2}'):
            spec = options_of(Settings({"UNSEEN_PER_HOST": value}), "a").spec
            self.assertEqual(spec["perHost"], {"delaySeconds": 2})
        self.assertEqual(options_of(Settings({"UNSEEN_PER_HOST": {}}), "a").spec["perHost"], {})
        self.assertNotIn("perHost", options_of(Settings({}), "a").spec)

    def test_is_refused_otherwise(self) -> None:
        for value in (7, "2s", "[1]"):
            with self.subTest(value), self.assertRaisesRegex(SettingError, "UNSEEN_PER_HOST must be a dict"):
                options_of(Settings({"UNSEEN_PER_HOST": value}), "a")


if __name__ == "__main__":
    unittest.main()
