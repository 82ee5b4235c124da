import unittest
from typing import Any, Dict
from unittest.mock import patch

from scrapy import Request, Spider
from scrapy.settings import Settings
from tests.support import UNSEEN, Site, call, crawl, fresh_name

from scrapy_unseen import DupeFilter, SettingError
from scrapy_unseen.service import Service, ServiceUnavailable

SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "DUPEFILTER_CLASS": "scrapy_unseen.DupeFilter"}


class DupeFilterTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.settings: Dict[str, Any] = {"UNSEEN_SET": fresh_name(), **SCRAPYS}

    def test_a_second_run_fetches_no_page_with_scrapys_own_scheduler(self) -> None:
        pages = [self.site.page(i) for i in range(100)]
        first = crawl(pages[:10] + pages, self.settings)
        self.assertEqual((first.get("bloomfilter/filtered"), first.get("response_received_count")), (10, 100), first["log"])
        second = crawl(pages[:10] + pages, self.settings)
        self.assertEqual((second.get("dupefilter/filtered"), second.get("response_received_count", 0)), (110, 0))

    def test_is_created_used_and_cleared_as_by_scrapy_redis_and_keeps_its_set(self) -> None:
        name = fresh_name()
        settings = Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": name})
        spider = Spider(name="any")
        spider.settings = settings
        spider.crawler = None
        for made in (DupeFilter.from_settings(settings), DupeFilter.from_spider(spider)):
            page = Request("https://example.org/")
            made.request_seen(page)
            self.assertTrue(made.request_seen(page))
            made.clear()
            made.close("finished")
            self.addCleanup(made.close)
        self.assertEqual(call("GET", f"/v1/visited-sets/{name}")["items"], 1)

    def test_refuses_what_only_the_scheduler_can_do(self) -> None:
        for visited_when in ("crawled", "queued"):
            made = DupeFilter(Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": fresh_name(), "UNSEEN_VISITED_WHEN": visited_when}))
            with self.assertRaisesRegex(SettingError, 'needs SCHEDULER = "scrapy_unseen.Scheduler"'):
                made.open()

    def test_treats_requests_as_new_or_seen_while_the_service_is_unavailable(self) -> None:
        away = {"UNSEEN_URL": "http://127.0.0.1:1", "UNSEEN_SET": fresh_name(), "UNSEEN_TIMEOUT": 0.1}
        for on_error, seen in (("new", False), ("seen", True)):
            made = DupeFilter(Settings({**away, "UNSEEN_ON_ERROR": on_error}))
            self.assertEqual(made.request_seen(Request("https://example.org/")), seen)
        for refused in ({"UNSEEN_ON_ERROR": "close"}, {"UNSEEN_CLEAR_ON_START": True}):
            with self.subTest(**refused), self.assertRaises(ServiceUnavailable):
                DupeFilter(Settings({**away, **refused})).open()

    def test_remembers_after_its_first_call_that_the_service_is_unavailable(self) -> None:
        away = {"UNSEEN_URL": "http://127.0.0.1:1", "UNSEEN_SET": fresh_name(), "UNSEEN_TIMEOUT": 0.1, "UNSEEN_ON_ERROR": "close"}
        made = DupeFilter(Settings(away))
        # The service is unavailable for longer than the test takes. scrapy-redis' scheduler doesn't open the filter.
        with patch("scrapy_unseen.service.AWAY_SECONDS", 3_600), patch.object(Service, "_take", side_effect=OSError("refused")) as tries:
            self.assertTrue(made.request_seen(Request("https://example.org/a")))
            before = tries.call_count
            self.assertTrue(made.request_seen(Request("https://example.org/b")))
        self.assertEqual((before > 0, tries.call_count), (True, before))

    def test_does_not_ask_again_about_recently_seen_requests(self) -> None:
        name = fresh_name()
        filters = [DupeFilter(Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": name, **extra})) for extra in ({}, {"UNSEEN_CACHE_SECONDS": 0})]
        for one in filters:
            self.addCleanup(one.close)
        page = Request("https://example.org/a")
        cached, plain = filters
        self.assertFalse(cached.request_seen(page))
        call("POST", f"/v1/visited-sets/{name}/urls/forget", {"urls": [page.url]})
        self.assertTrue(cached.request_seen(page))
        self.assertFalse(plain.request_seen(page))
        plain.forget(page.url)
        self.assertFalse(plain.request_seen(page))
        cached.forget(page)
        self.assertFalse(cached.request_seen(page))


if __name__ == "__main__":
    unittest.main()
