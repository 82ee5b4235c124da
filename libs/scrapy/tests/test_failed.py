"""Tests pages in the queue whose last retry has failed, with ForgetFailed."""

import unittest
from typing import Any, Dict, List

from tests.support import Site, call, crawl, fresh_name, until


class FailedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.name = fresh_name()
        self.start = self.site.page(0)
        self.broken = f"{self.site.url}/broken/1"
        self.links: Dict[str, List[str]] = {self.start: [self.broken]}

    def queue(self) -> Dict[str, int]:
        queue = dict(call("GET", f"/v1/visited-sets/{self.name}")["queue"])
        return {state: queue[state] for state in ("waiting", "leased", "delayed", "dead")}

    def crawl(self) -> Dict[str, Any]:
        settings = {
            "UNSEEN_SET": self.name,
            "SCHEDULER": "tests.crawl.ComesBackSoon",
            "DOWNLOADER_MIDDLEWARES": {"scrapy_unseen.ForgetFailed": 540},
        }
        stats = crawl([self.start], settings, links=self.links)
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        self.assertNotIn("Traceback", stats["log"])
        return stats

    def comes_back(self) -> None:
        """Waits until the page can be leased again. The queue counts it as delayed until a lease call finds it."""
        path = f"/v1/visited-sets/{self.name}/queue"
        leased: List[Dict[str, Any]] = []

        def is_there() -> bool:
            leased.extend(call("POST", f"{path}/lease", {"max": 1, "leaseSeconds": 60})["urls"])
            return bool(leased)

        until("the page comes back", is_there)
        call("POST", f"{path}/release", {"ids": [leased[0]["id"]], "countAttempt": False})

    def test_a_page_of_a_failing_site_is_fetched_by_a_later_run_that_does_not_find_it_again(self) -> None:
        stats = self.crawl()
        self.assertEqual((stats.get("unseen/failed"), stats.get("unseen/left")), (1, 1), stats["log"][-3000:])
        self.assertEqual(self.site.hits, {"/page/0": 1, "/broken/1": 2})
        self.site.broken = False
        self.comes_back()
        self.crawl()
        self.assertEqual(self.site.hits, {"/page/0": 1, "/broken/1": 3})
        self.assertEqual(set(self.queue().values()), {0})

    def test_a_page_that_fails_in_every_run_becomes_a_dead_letter(self) -> None:
        call("POST", "/v1/visited-sets", {"name": self.name, "capacity": 1_000, "maxAttempts": 2})
        self.crawl()
        self.comes_back()
        stats = self.crawl()
        self.assertEqual(stats.get("unseen/dead"), 1, stats["log"][-3000:])
        self.assertEqual(self.queue(), {"waiting": 0, "leased": 0, "delayed": 0, "dead": 1})
        (letter,) = call("GET", f"/v1/visited-sets/{self.name}/queue/dead-letters")["urls"]
        self.assertEqual((letter["url"], letter["reason"]), (self.broken, "its last retry failed"))

    def test_the_target_of_a_redirect_is_unseen_again_and_the_page_returns(self) -> None:
        self.site.moved["/page/1"] = "/broken/1"
        self.links[self.start] = [self.site.page(1)]
        self.crawl()
        check = call("POST", f"/v1/visited-sets/{self.name}/urls/check", {"urls": [self.site.page(1), self.broken]})
        self.assertEqual(check["results"], ["seen", "unseen"])
        self.site.broken = False
        self.comes_back()
        stats = self.crawl()
        self.assertEqual(stats.get("item_scraped_count"), 1, stats["log"][-3000:])
        self.assertEqual(set(self.queue().values()), {0})

    def test_a_run_tries_a_failing_page_once_no_matter_how_long_it_takes(self) -> None:
        self.links = {self.start: [self.broken, self.site.page(1)], self.site.page(1): [self.site.page(2)]}
        # Wait until the page works again.
        self.site.on_hit = lambda path: self.comes_back() if path == "/page/1" else None
        self.crawl()
        self.assertEqual(self.site.hits, {"/page/0": 1, "/broken/1": 2, "/page/1": 1, "/page/2": 1})
        # The page was postponed once more, but this delays no other crawl.
        self.assertEqual(self.queue(), {"waiting": 0, "leased": 0, "delayed": 1, "dead": 0})


if __name__ == "__main__":
    unittest.main()
