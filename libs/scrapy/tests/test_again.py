"""Pages that come back after their crawl, and the priorities of pages in the queue."""

import logging
import signal
import unittest
from typing import Any, Callable, Dict, List

from scrapy.http import Request
from scrapy.settings import Settings
from tests.support import Site, call, crawl, ended, fresh_name, start_crawl, until

from scrapy_unseen.again import again_after_of
from scrapy_unseen.kept_keys import Key
from scrapy_unseen.leases import Again, Leases
from scrapy_unseen.options import SettingError, options_of

HOUR = 3_600
PAGES = 3


class AgainTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.name = fresh_name()
        self.urls = [self.site.page(i) for i in range(PAGES)]

    def settings(self, **more: Any) -> Dict[str, Any]:
        return {"UNSEEN_SET": self.name, **more}

    def queue(self) -> Dict[str, int]:
        queue = call("GET", f"/v1/visited-sets/{self.name}")["queue"]
        return {state: count for state, count in queue.items() if count and state != "oldestSeconds"}

    def crawl(self, urls: List[str], spider: Dict[str, Any] = {}, **settings: Any) -> Dict[str, Any]:
        stats = crawl(urls, self.settings(**settings), **spider)
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        self.assertNotIn("Traceback", stats["log"])
        return stats

    def crawl_until(self, holds: Callable[[], bool]) -> None:
        """Runs crawls without start pages."""

        def crawled() -> bool:
            self.crawl([], UNSEEN_AGAIN_AFTER=HOUR)
            return holds()

        until("the pages are fetched again", crawled)

    def test_pages_wait_in_the_queue_for_a_later_run(self) -> None:
        stats = self.crawl(self.urls, UNSEEN_AGAIN_AFTER="30d")
        self.assertEqual((stats.get("unseen/scheduled"), stats.get("unseen/left")), (PAGES, 0))
        self.assertEqual(self.queue(), {"scheduled": PAGES})
        self.crawl([], UNSEEN_AGAIN_AFTER="30d")
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_later_run_fetches_the_pages_that_are_due(self) -> None:
        self.crawl(self.urls, UNSEEN_AGAIN_AFTER=1)
        self.crawl_until(lambda: min(self.site.hits.values()) > 1)
        self.assertEqual((set(self.site.hits), self.queue()), ({f"/page/{i}" for i in range(PAGES)}, {"scheduled": PAGES}))

    def test_a_run_that_stays_open_fetches_the_pages_that_are_due(self) -> None:
        crawling = start_crawl(self.urls, self.settings(UNSEEN_AGAIN_AFTER=1), stays=True)
        until("each page was fetched three times", lambda: len(self.site.hits) == PAGES and min(self.site.hits.values()) > 2)
        crawling.signal(signal.SIGINT)
        self.assertNotIn("Traceback", ended(crawling)["log"])

    def test_the_target_of_a_redirect_is_fetched_each_time(self) -> None:
        self.crawl([f"{self.site.url}/moved/page/7"], UNSEEN_AGAIN_AFTER=1)
        before = dict(self.site.hits)
        self.crawl_until(lambda: self.site.hits["/moved/page/7"] > before["/moved/page/7"])
        self.assertGreater(self.site.hits["/page/7"], before["/page/7"])

    def test_a_callback_sets_the_time_of_its_page(self) -> None:
        again = {self.urls[0]: "1h", self.urls[1]: 0}
        self.crawl(self.urls, {"again": again})
        self.assertEqual(self.queue(), {"scheduled": 1})
        self.name = fresh_name()
        self.crawl(self.urls, {"again": again}, UNSEEN_AGAIN_AFTER=HOUR)
        self.assertEqual(self.queue(), {"scheduled": 2})

    def test_a_page_that_the_spider_forgets_does_not_come_back(self) -> None:
        self.crawl(self.urls, {"forgets": [self.urls[0]]}, UNSEEN_AGAIN_AFTER=HOUR)
        self.assertEqual(call("POST", f"/v1/visited-sets/{self.name}/urls/check", {"urls": self.urls})["results"], ["unseen", "seen", "seen"])
        self.assertEqual(call("POST", f"/v1/visited-sets/{self.name}/urls/forget", {"urls": self.urls})["counts"]["forgotten"], 2)

    def test_a_crawl_of_a_set_that_ages_logs_that_it_has_no_effect(self) -> None:
        call("POST", "/v1/visited-sets", {"name": self.name, "capacity": 1_000, "maxAgeSeconds": HOUR})
        stats = self.crawl(self.urls, UNSEEN_AGAIN_AFTER=60)
        self.assertIn("UNSEEN_AGAIN_AFTER has no effect", stats["log"])
        self.assertEqual(self.queue(), {})

    def test_the_queue_keeps_priorities(self) -> None:
        start, *others = [self.site.page(i) for i in range(8)]
        priorities = {url: [0, -10, 5][i % 3] for i, url in enumerate(others)}
        stats = crawl([start], self.settings(CLOSESPIDER_PAGECOUNT=1, CONCURRENT_REQUESTS=1), links={start: others}, priorities=priorities)
        self.assertEqual(stats.get("finish_reason"), "closespider_pagecount", stats["log"][-3000:])
        leased = call("POST", f"/v1/visited-sets/{self.name}/queue/lease", {"max": 100, "leaseSeconds": HOUR})["urls"]
        given = [priorities[one["url"]] for one in leased]
        self.assertEqual(given, sorted(given, reverse=True))
        self.assertGreater(len(set(given)), 1)


class TimesTest(unittest.TestCase):
    def test_the_setting_is_a_time(self) -> None:
        for value, seconds in [("30d", 30 * 86_400), (1, 1), ("1h", HOUR), ("3650d", 315_360_000)]:
            self.assertEqual(options_of(Settings({"UNSEEN_AGAIN_AFTER": value}), "a").again_after, seconds)
        self.assertEqual(options_of(Settings({}), "a").again_after, 0)
        for value in (0, "3651d", "soon", -1):
            with self.subTest(value), self.assertRaisesRegex(SettingError, "UNSEEN_AGAIN_AFTER must be a time from 1 second to 10 years"):
                options_of(Settings({"UNSEEN_AGAIN_AFTER": value}), "a")

    def test_the_setting_needs_a_queue_and_a_set_that_does_not_age(self) -> None:
        for more in ({"JOBDIR": "/tmp/job"}, {"UNSEEN_VISITED_WHEN": "crawled"}):
            with self.subTest(more), self.assertRaisesRegex(SettingError, 'needs UNSEEN_VISITED_WHEN = "queued"'):
                options_of(Settings({"UNSEEN_AGAIN_AFTER": 60, **more}), "a")
        with self.assertRaisesRegex(SettingError, "does not work with UNSEEN_MAX_AGE"):
            options_of(Settings({"UNSEEN_AGAIN_AFTER": 60, "UNSEEN_MAX_AGE": "1d"}), "a")

    def test_the_meta_of_a_request_overrides_the_setting(self) -> None:
        def after(**meta: Any) -> int:
            return again_after_of(Request("http://a.example/", meta=meta), HOUR)

        self.assertEqual(after(), HOUR)
        for value, seconds in [(60, 60), ("1d", 86_400), (0, 0), (None, 0), (False, 0)]:
            self.assertEqual(after(unseen_again_after=value), seconds)
        with self.assertLogs(logging.getLogger("scrapy_unseen"), "ERROR"):
            self.assertEqual(after(unseen_again_after="soon"), HOUR)

    def test_leases_know_the_times_and_the_targets_to_forget(self) -> None:
        leases = Leases()
        leases.add(["a", "b", "c"])
        request, target = Request("http://a.example/"), Key(True, "http://a.example/target")
        leases.attach(request, "a")
        leases.add_target(request, target)
        for lease, seconds in [("a", 60), ("b", 60), ("b", 0), ("c", 7)]:
            leases.come_back(lease, seconds)
        self.assertEqual(leases.again(["a", "b"]), Again({"a": 60}, [target]))
        leases.acknowledged(["a"])
        leases.remove("c")
        self.assertEqual(leases.again(["a", "b", "c"]), Again({}, []))


if __name__ == "__main__":
    unittest.main()
