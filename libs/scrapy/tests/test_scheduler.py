import tempfile
import unittest
from typing import Any, Dict
from unittest.mock import Mock, patch

from scrapy import Request
from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.settings import Settings
from tests.support import Site, call, crawl, fresh_name

from scrapy_unseen import Scheduler
from scrapy_unseen.kept_keys import Key, keep
from scrapy_unseen.options import options_of
from scrapy_unseen.scheduler import UNASKED

CRAWLED = {"UNSEEN_VISITED_WHEN": "crawled", "SPIDER_MIDDLEWARES": {"scrapy_unseen.VisitCrawled": 50}}
VISITED_WHEN: "tuple[Dict[str, Any], ...]" = ({}, {"UNSEEN_VISITED_WHEN": "scheduled"}, CRAWLED)


class SchedulerTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.settings: Dict[str, Any] = {"UNSEEN_SET": fresh_name()}

    def assert_stats(self, stats: Dict[str, Any], **expected: Any) -> None:
        found = {name: stats.get(name.replace("__", "/"), 0) for name in expected}
        self.assertEqual(found, expected, stats["log"][-3000:])
        if "the callback has failed" not in stats["log"]:
            self.assertNotIn("Traceback", stats["log"])

    def test_a_second_run_fetches_only_forgotten_pages(self) -> None:
        pages = [self.site.page(i) for i in range(100)]
        for visited_when in VISITED_WHEN:
            with self.subTest(**visited_when):
                settings = {"UNSEEN_SET": fresh_name(), **visited_when}
                first = crawl(pages[:10] + pages, settings)
                self.assert_stats(
                    first,
                    bloomfilter__filtered=10,
                    dupefilter__filtered=10,
                    response_received_count=100,
                    finish_reason="finished",
                )
                second = crawl(pages[:10] + pages, settings)
                self.assert_stats(second, bloomfilter__filtered=110, response_received_count=0, finish_reason="finished")
                call("POST", f"/v1/visited-sets/{settings['UNSEEN_SET']}/urls/forget", {"urls": pages[20:27]})
                third = crawl(pages[:10] + pages, settings)
                self.assert_stats(third, bloomfilter__filtered=103, response_received_count=7)

    def test_the_seeds_example(self) -> None:
        pages = [self.site.page(i) for i in range(100)]
        settings = {
            **self.settings,
            "BLOOMFILTER_BIT": 10,
            "BLOOMFILTER_HASH_NUMBER": 6,
            # The project used this before, and need not keep it installed.
            "DUPEFILTER_CLASS": "scrapy_redis_bloomfilter.dupefilter.RFPDupeFilter",
        }
        stats = crawl(pages[:10] + pages, settings)
        self.assert_stats(stats, bloomfilter__filtered=10, response_received_count=100)
        made = call("GET", f"/v1/visited-sets/{self.settings['UNSEEN_SET']}")
        self.assertEqual((made["capacity"], made["errorRate"]), (118, 1e-4))

    def test_unfiltered_requests_are_neither_checked_nor_marked(self) -> None:
        page, moved = self.site.page(1), f"{self.site.url}/moved/page/2"
        for visited_when in VISITED_WHEN:
            with self.subTest(**visited_when):
                settings = {"UNSEEN_SET": fresh_name(), **visited_when}
                stats = crawl([page, page, moved], settings, dont_filter=[page, moved])
                self.assert_stats(stats, downloader__response_status_count__200=3, bloomfilter__filtered=0)
                self.assertEqual(call("GET", f"/v1/visited-sets/{settings['UNSEEN_SET']}")["items"], 0)

    def test_urls_that_no_set_accepts_are_told_apart_by_fingerprint_and_spoil_no_other(self) -> None:
        page = self.site.page(1)
        stats = crawl(["data:,a", page, "data:,a", "data:,b", page], self.settings)
        self.assert_stats(stats, response_received_count=3, bloomfilter__filtered=2)
        self.assertEqual(call("GET", f"/v1/filters/{self.settings['UNSEEN_SET']}.requests")["items"], 2)

    def test_other_methods_are_told_apart_by_fingerprint(self) -> None:
        page = self.site.page(1)
        stats = crawl([page, f"POST {page}", f"POST {page}", page], self.settings)
        self.assert_stats(stats, response_received_count=2, bloomfilter__filtered=2)
        name = self.settings["UNSEEN_SET"]
        self.assertEqual(call("GET", f"/v1/filters/{name}.requests")["items"], 1)
        self.assertEqual(call("GET", f"/v1/visited-sets/{name}")["items"], 1)
        again = crawl([f"POST {page}"], self.settings)
        self.assert_stats(again, response_received_count=0, bloomfilter__filtered=1)

    def test_the_target_of_a_redirect_is_seen_too(self) -> None:
        for visited_when in VISITED_WHEN:
            with self.subTest(**visited_when):
                settings = {"UNSEEN_SET": fresh_name(), **visited_when}
                crawl([f"{self.site.url}/moved/page/1"], settings)
                self.site.hits.clear()
                stats = crawl([self.site.page(1), f"{self.site.url}/moved/page/1"], settings)
                self.assert_stats(stats, bloomfilter__filtered=2, response_received_count=0)
                # Nor was the target checked.
                self.assertEqual(self.site.hits, {})

    def test_a_page_whose_callback_fails_is_tried_by_the_next_run(self) -> None:
        # Like Scrapy's filter, the filter of a run treats the first fragment as the same page. The last request goes to
        # the errback.
        pages = [*(self.site.page(i) for i in range(20)), f"{self.site.page(0)}#part", f"{self.site.url}/gone/1"]
        settings = {**self.settings, **CRAWLED}
        first = crawl(pages, settings, fails=["/page/3", "/page/4"])
        self.assert_stats(first, response_received_count=21, bloomfilter__filtered=1)
        again = crawl(pages, settings)
        self.assert_stats(again, response_received_count=3, bloomfilter__filtered=19)
        self.assertEqual([self.site.hits[path] for path in ("/page/3", "/gone/1", "/page/5")], [2, 2, 1])

    def test_pages_not_fetched_when_the_spider_closes_are_fetched_by_the_next(self) -> None:
        pages = [self.site.page(i) for i in range(200)]
        jobs = [tempfile.mkdtemp() for _ in range(2)]
        for extra in ({}, {"UNSEEN_VISITED_WHEN": "scheduled"}, {"JOBDIR": jobs[0]}, {"JOBDIR": jobs[1], **CRAWLED}):
            with self.subTest(**extra):
                settings = {"UNSEEN_SET": fresh_name(), **extra}
                self.site.hits.clear()
                closed = crawl(pages, {**settings, "CLOSESPIDER_PAGECOUNT": 30})
                self.assert_stats(closed, finish_reason="closespider_pagecount")
                self.assertLess(len(self.site.hits), 200)
                crawl(pages, settings)
                self.assertEqual(set(self.site.hits.values()), {1})
                self.assertEqual(len(self.site.hits), 200)

    def test_a_spider_forgets_pages_and_pages_that_failed_permanently(self) -> None:
        page, broken = self.site.page(1), f"{self.site.url}/broken/1"
        pages = [page, broken, f"{self.site.url}/moved/broken/2"]
        # With a queue, the pages return to the queue.
        settings = {**self.settings, "UNSEEN_VISITED_WHEN": "scheduled", "DOWNLOADER_MIDDLEWARES": {"scrapy_unseen.ForgetFailed": 540}}
        # The same run does not retry a forgotten page, even if it finds the page again.
        crawl(pages, settings, forgets=[page], links={broken: [broken]})
        self.assertEqual([self.site.hits[path] for path in ("/page/1", "/broken/1", "/broken/2")], [1, 2, 2])
        self.site.broken = False
        stats = crawl(pages, settings)
        self.assert_stats(stats, response_received_count=3, bloomfilter__filtered=0)
        self.assert_stats(crawl(pages, settings), response_received_count=0)

    def test_only_the_request_without_a_fingerprint_is_dropped(self) -> None:
        pages = [self.site.page(i) for i in (7, 13, 8)]
        for visited_when in ("queued", "scheduled"):
            with self.subTest(visited_when=visited_when):
                settings = {"UNSEEN_SET": fresh_name(), "UNSEEN_VISITED_WHEN": visited_when, "REQUEST_FINGERPRINTER_CLASS": "tests.crawl.FailsAt13"}
                self.site.hits.clear()
                stats = crawl(pages, settings)
                self.assert_stats(stats, response_received_count=2, unseen__dropped=1)
                self.assertIn("/page/13> was dropped, because its fingerprinter failed", stats["log"])
                check = call("POST", f"/v1/visited-sets/{settings['UNSEEN_SET']}/urls/check", {"urls": pages})
                self.assertEqual(check["results"], ["seen", "unseen", "seen"])

    def test_requests_after_the_end_are_not_visited(self) -> None:
        # Check each request immediately.
        settings = {**self.settings, "UNSEEN_BATCH_SIZE": 1}
        stats = crawl([self.site.page(1)], settings, late=self.site.page(2))
        self.assert_stats(stats, response_received_count=1, unseen__dropped=1)
        self.assertEqual(call("GET", f"/v1/visited-sets/{self.settings['UNSEEN_SET']}")["items"], 1)

    def test_a_set_is_cleared_only_on_request(self) -> None:
        page = self.site.page(1)
        crawl([page, f"POST {page}"], self.settings)
        cleared = crawl([page, f"POST {page}"], {**self.settings, "UNSEEN_CLEAR_ON_START": True})
        self.assert_stats(cleared, response_received_count=2)

    def test_two_simultaneous_crawls_of_one_set_fetch_no_page_twice(self) -> None:
        from tests.support import ended, start_crawl

        pages = [self.site.page(i) for i in range(300)]
        both = [start_crawl(some, self.settings) for some in (pages, list(reversed(pages)))]
        for process in both:
            self.assert_stats(ended(process), finish_reason="finished")
        self.assertEqual(set(self.site.hits.values()), {1})
        self.assertEqual(len(self.site.hits), 300)

    def test_unchecked_requests_of_a_jobdir_are_checked_even_after_a_dropped_page(self) -> None:
        scheduler: Any = Scheduler.__new__(Scheduler)
        scheduler._options = options_of(Settings(CRAWLED), "spider")
        scheduler._fingerprint = lambda request: request.url.encode()
        scheduler._run, scheduler._closing = "this", False
        scheduler.spider = scheduler.stats = scheduler.crawler = scheduler.enqueue_request = Mock()
        again, unasked = Request(self.site.page(1)), Request(self.site.page(2), meta={UNASKED: True})
        keep(again, [Key(True, again.url)], "earlier")
        scheduler._not_again = {again.url.encode()}
        with patch.object(ScrapyScheduler, "next_request", side_effect=[again, unasked]):
            self.assertIsNone(scheduler.next_request())
        scheduler.enqueue_request.assert_called_once_with(unasked)

    def test_invalid_names_and_values_are_refused_with_the_allowed_ones(self) -> None:
        for settings, says in (
            ({"UNSEEN_SET": "My Crawl!"}, "UNSEEN_SET = 'My-Crawl'"),
            ({"UNSEEN_SET": "x" * 60}, "1 to 55 of A-Z"),
            ({"UNSEEN_URL": "redis://localhost"}, "not 'redis://localhost'"),
            ({"UNSEEN_VISITED_WHEN": "never"}, "one of queued, scheduled, crawled, not 'never'"),
            ({"UNSEEN_VISITED_WHEN": "crawled"}, "needs SPIDER_MIDDLEWARES"),
            ({"UNSEEN_BATCH_SIZE": "many"}, "from 1 to 1000, not 'many'"),
            ({"UNSEEN_MAX_AGE": "1s"}, "10 seconds to 10 years"),
        ):
            with self.subTest(**settings):
                stats = crawl([self.site.page(1)], {**self.settings, **settings})
                self.assertIn(says, stats["log"])
        self.assertEqual(self.site.hits, {})


if __name__ == "__main__":
    unittest.main()
