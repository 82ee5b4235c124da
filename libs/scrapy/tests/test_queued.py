"""Crawls that are interrupted, killed, or shared, with their pending pages in the queue of their set."""

import signal
import threading
import unittest
from typing import Any, Dict, List
from unittest.mock import Mock

from scrapy import Request
from twisted.internet.defer import Deferred
from tests.support import LONGEST, Site, call, crawl, ended, fresh_name, start_crawl, until

from scrapy_unseen.leases import Leases
from scrapy_unseen.passed import Passed
from scrapy_unseen.queued import QueuedScheduler

#: Most crawls need no more pages than this.
FEW = 40
#: Enough that a crawl leases more than once, and that pages wait in the queue while it holds as many leases as it may.
MANY = 150
#: A crawl of many pages is stopped after this many.
BEFORE = 50


class QueuedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.site = Site()
        self.addCleanup(self.site.close)
        self.pages = FEW
        self.site.links = self.links
        self.settings: Dict[str, Any] = {"UNSEEN_SET": fresh_name()}

    def links(self, path: str) -> List[str]:
        """A tree of pages. Each page is linked from one parent, and links back to the first pages."""
        number = int(path.rpartition("/")[2])
        return [f"/page/{i}" for i in (0, 1, 2, 3 * number + 1, 3 * number + 2, 3 * number + 3) if i < self.pages]

    def queue(self) -> Dict[str, int]:
        return dict(call("GET", f"/v1/visited-sets/{self.settings['UNSEEN_SET']}")["queue"])

    def start(self, **settings: Any) -> Any:
        return start_crawl([self.site.page(0)], {**self.settings, **settings}, follows=True)

    def crawl(self, **settings: Any) -> Dict[str, Any]:
        return dict(ended(self.start(**settings)))

    def stop_in_the_middle(self, number: int, **settings: Any) -> Dict[str, Any]:
        """Signals a crawl after some of many pages. Until the crawl stops, the site answers no more requests."""
        self.pages = MANY
        stopped = threading.Event()
        self.site.on_hit = lambda _: stopped.wait(LONGEST) if sum(self.site.hits.values()) >= BEFORE else None
        crawling = self.start(**settings)
        until("pages are fetched", lambda: sum(self.site.hits.values()) >= BEFORE)
        crawling.signal(number)
        if number == signal.SIGINT:
            until("the crawl stops", lambda: "Received SIGINT" in crawling.log())
            stopped.set()
        try:
            return dict(ended(crawling))
        finally:
            stopped.set()
            self.site.on_hit = None

    def assert_all_done(self, stats: Dict[str, Any]) -> None:
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        self.assertNotIn("Traceback", stats["log"])
        self.assertEqual({path for path in self.site.hits if path.startswith("/page/")}, {f"/page/{i}" for i in range(self.pages)})
        self.assertEqual({name: count for name, count in self.queue().items() if count}, {})

    def test_a_run_fetches_each_page_once_and_the_next_one_none(self) -> None:
        self.pages = MANY
        self.assert_all_done(self.crawl())
        again = self.crawl()
        self.assertEqual((again.get("response_received_count", 0), again.get("unseen/left")), (0, 0), again["log"][-3000:])
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_run_continues_where_ctrl_c_stopped_another(self) -> None:
        stats = self.stop_in_the_middle(signal.SIGINT)
        self.assertEqual(stats.get("finish_reason"), "shutdown", stats["log"][-3000:])
        left = self.queue()["waiting"]
        self.assertEqual(stats["unseen/left"], left)
        self.assertIn(f"{left} pages in set {self.settings['UNSEEN_SET']} are visited but not crawled", stats["log"])
        again = self.crawl()
        self.assertIn(f"has {left} pages from earlier runs", again["log"])
        self.assert_all_done(again)
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_run_continues_where_another_was_killed(self) -> None:
        self.stop_in_the_middle(signal.SIGKILL, UNSEEN_LEASE_SECONDS=5)
        self.assertLess(len(self.site.hits), MANY)
        self.assert_all_done(self.crawl())

    def test_the_target_of_a_redirect_is_not_lost_with_a_killed_crawl(self) -> None:
        self.site.moved["/page/0"] = "/page/1"
        reached, go_on = threading.Event(), threading.Event()

        def on_hit(path: str) -> None:
            if path == "/page/1" and not go_on.is_set():
                reached.set()
                go_on.wait()

        self.site.on_hit = on_hit
        crawling = self.start(UNSEEN_LEASE_SECONDS=1)
        until("the page was redirected", reached.is_set)
        crawling.signal(signal.SIGKILL)
        go_on.set()
        ended(crawling)
        stats = self.crawl()
        self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        self.assertEqual([self.site.hits[path] for path in ("/page/1", "/page/4")], [2, 1])
        self.assertEqual(stats.get("unseen/left"), 0)

    def test_two_crawls_share_the_queue(self) -> None:
        self.pages = MANY
        both = [self.start() for _ in range(2)]
        for one in both:
            self.assert_all_done(ended(one))
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_spider_with_another_name_is_told_that_the_pages_are_not_its_own(self) -> None:
        self.crawl(CLOSESPIDER_PAGECOUNT=1)
        left = self.queue()["waiting"]
        stats = crawl([], self.settings, name="other")
        self.assertEqual(stats.get("finish_reason"), "unseen_other_spider", stats["log"][-3000:])
        self.assertIn("has pages from spider 'given', which 'other' can't handle", stats["log"])
        self.assertEqual(self.queue()["waiting"], left)

    def test_a_run_that_leaves_pages_says_so(self) -> None:
        # The start page links to more pages than this run fetches.
        self.crawl(CLOSESPIDER_PAGECOUNT=1)
        left = self.queue()["waiting"]
        told = self.crawl(UNSEEN_VISITED_WHEN="scheduled")
        self.assertIn(f"has {left} pages that this run does not crawl", told["log"])
        pages = [self.site.page(i) for i in range(10, 40)]
        settings = {**self.settings, "UNSEEN_SET": fresh_name(), "UNSEEN_VISITED_WHEN": "scheduled", "CLOSESPIDER_PAGECOUNT": 1}
        stats = crawl(pages, settings)
        self.assertIn(f"{stats['unseen/given_back']} pages were found but not fetched", stats["log"])

    def test_urls_that_others_have_queued_are_crawled(self) -> None:
        self.site.links = lambda path: ()
        name = self.settings["UNSEEN_SET"]
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000})
        call("POST", f"/v1/visited-sets/{name}/urls/discover", {"urls": [self.site.page(7), {"url": self.site.page(8), "payload": "x"}]})
        stats = crawl([], self.settings)
        self.assertEqual(stats.get("item_scraped_count"), 2, stats["log"][-3000:])

    def test_requests_without_a_payload_are_crawled_from_memory(self) -> None:
        page = self.site.page(1)
        self.site.links = lambda path: ()
        stats = crawl([self.site.page(0), f"POST {page}"], self.settings, links={self.site.page(0): [page]}, large=True)
        self.assertEqual((stats.get("item_scraped_count"), stats.get("unseen/unqueued")), (3, 2), stats["log"][-3000:])
        self.assertIn("is kept in memory only", stats["log"])

    def test_ctrl_c_makes_no_dead_letters(self) -> None:
        name = self.settings["UNSEEN_SET"]
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000, "maxAttempts": 1})
        stats = self.stop_in_the_middle(signal.SIGINT)
        self.assertGreater(stats["unseen/left"], 0, stats["log"][-3000:])
        self.assertEqual(self.queue()["dead"], 0)
        self.assert_all_done(self.crawl())

    def test_the_target_of_a_redirect_is_not_lost_with_a_stopped_crawl(self) -> None:
        self.site.links = lambda path: ()
        self.site.moved = {"/page/1": "/page/11", "/page/2": "/page/12"}
        both, stopped = threading.Event(), threading.Event()

        def on_hit(path: str) -> None:
            if len(self.site.hits) == 2 and not stopped.is_set():
                both.set()
                stopped.wait()

        self.site.on_hit = on_hit
        # One page is fetched while the other's redirect target waits to be checked.
        settings = {**self.settings, "CONCURRENT_REQUESTS": 1, "UNSEEN_BATCH_DELAY": 0.5}
        crawling = start_crawl([self.site.page(1), self.site.page(2)], settings)
        until("one page is redirected, and the other is being fetched", both.is_set)
        targets = [self.site.page(11), self.site.page(12)]
        check = f"/v1/visited-sets/{settings['UNSEEN_SET']}/urls/check"
        until("a target is visited", lambda: "seen" in call("POST", check, {"urls": targets})["results"])
        crawling.signal(signal.SIGINT)
        until("the crawl stops", lambda: "Received SIGINT" in crawling.log())
        stopped.set()
        first = ended(crawling)
        self.assertEqual((first.get("finish_reason"), first.get("unseen/left")), ("shutdown", 2), first["log"][-3000:])
        self.assertEqual(self.site.hits, {"/page/1": 1, "/page/2": 1})
        stats = crawl([], settings)
        self.assertEqual((stats.get("finish_reason"), stats.get("unseen/left")), ("finished", 0), stats["log"][-3000:])
        self.assertEqual((self.site.hits["/page/11"], self.site.hits["/page/12"]), (1, 1))

    def test_links_of_a_retried_and_redirected_page_are_queued(self) -> None:
        self.site.links = lambda path: ()
        page, target, link = f"{self.site.url}/broken/1", self.site.page(1), self.site.page(2)

        def on_hit(path: str) -> None:
            if self.site.hits["/broken/1"] == 2:
                self.site.moved["/broken/1"] = "/page/1"

        self.site.on_hit = on_hit
        # The spider passes on the page's meta.
        stats = crawl([page], self.settings, links={target: [link]})
        self.assertEqual(self.site.hits, {"/broken/1": 2, "/page/1": 1, "/page/2": 1}, stats["log"][-3000:])
        self.assertEqual(stats.get("unseen/queued"), 2)

    def test_dead_letters_are_reported(self) -> None:
        self.site.links = lambda path: ()
        name = self.settings["UNSEEN_SET"]
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000, "maxAttempts": 1})
        call("POST", f"/v1/visited-sets/{name}/urls/discover", {"urls": [self.site.page(7)]})
        (lease,) = call("POST", f"/v1/visited-sets/{name}/queue/lease", {"max": 1, "leaseSeconds": 60})["urls"]
        call("POST", f"/v1/visited-sets/{name}/queue/release", {"ids": [lease["id"]]})
        stats = self.crawl()
        self.assertEqual(stats.get("unseen/dead"), 1, stats["log"][-3000:])
        self.assertIn(f"1 pages in set {name} are dead letters", stats["log"])

    def test_an_unreadable_entry_holds_up_no_other_and_no_crawl(self) -> None:
        self.site.links = lambda path: ()
        name = self.settings["UNSEEN_SET"]
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000})
        bad = [{"url": self.site.page(i), "payload": text} for i, text in enumerate(('{"scrapy":"given","callback":"gone"}', '{"scrapy":"given","later":1}'))]
        call("POST", f"/v1/visited-sets/{name}/urls/discover", {"urls": [*bad, self.site.page(7)]})
        both = [start_crawl([], self.settings) for _ in range(2)]
        ends = [ended(one) for one in both]
        self.assertEqual([one.get("finish_reason") for one in ends], ["finished"] * 2, ends[0]["log"][-3000:])
        self.assertEqual((sum(one.get("unseen/unreadable", 0) for one in ends), self.site.hits), (2, {"/page/7": 1}))
        self.assertEqual((self.queue()["delayed"], self.queue()["leased"]), (2, 0))

    def test_an_entry_whose_request_has_no_fingerprint_holds_up_no_other(self) -> None:
        self.site.links = lambda path: ()
        name = self.settings["UNSEEN_SET"]
        call("POST", "/v1/visited-sets", {"name": name, "capacity": 1_000})
        call("POST", f"/v1/visited-sets/{name}/urls/discover", {"urls": [self.site.page(13), self.site.page(7)]})
        stats = crawl([], {**self.settings, "REQUEST_FINGERPRINTER_CLASS": "tests.crawl.FailsAt13"})
        self.assertEqual((stats.get("finish_reason"), stats.get("unseen/unreadable")), ("finished", 1), stats["log"][-3000:])
        self.assertEqual(self.site.hits, {"/page/7": 1})
        self.assertEqual((self.queue()["delayed"], self.queue()["leased"]), (1, 0))

    def test_requests_that_bypass_the_filter_are_reported_as_in_memory_only(self) -> None:
        self.site.links = lambda path: ()
        found = [self.site.page(1), self.site.page(2)]
        stats = crawl([self.site.page(0)], self.settings, links={self.site.page(0): found}, dont_filter=found[:1], discovery=found[1:])
        self.assertEqual((stats.get("item_scraped_count"), stats.get("unseen/unqueued")), (3, 2), stats["log"][-3000:])
        self.assertIn("is kept in memory only", stats["log"])

    def test_a_stopped_run_reports_requests_that_the_queue_does_not_take(self) -> None:
        self.site.links = lambda path: ()
        posts = [f"POST {self.site.page(i)}" for i in range(30)]
        stats = crawl(posts, {**self.settings, "CONCURRENT_REQUESTS": 1, "CLOSESPIDER_PAGECOUNT": 1})
        self.assertGreater(stats.get("unseen/given_back", 0), 0, stats["log"][-3000:])
        self.assertIn(f"{stats['unseen/given_back']} pages were found but not fetched, and the queue cannot store them", stats["log"])

    def test_a_page_that_is_queued_while_the_queue_is_checked_is_crawled(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.LooksLate")
        self.assertEqual(stats.get("looked_late"), 1, stats["log"][-3000:])
        self.assert_all_done(stats)

    def test_a_page_that_another_crawl_queues_meanwhile_is_crawled(self) -> None:
        self.assert_all_done(self.crawl(SCHEDULER="tests.crawl.QueuedByAnother"))

    def test_a_page_that_is_leased_when_a_run_ends_stays_in_the_queue(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.EndsFirst")
        self.assertEqual((stats.get("finish_reason"), stats.get("unseen/left")), ("unseen_unavailable", 1), stats["log"][-3000:])
        self.assertEqual(self.site.hits, {})
        self.assert_all_done(self.crawl())

    def test_a_page_that_was_queued_without_an_answer_is_acknowledged_at_the_end_of_a_run_that_has_fetched_it(self) -> None:
        self.assert_all_done(self.crawl(SCHEDULER="tests.crawl.MissesAnswer"))
        self.assertEqual((len(self.site.hits), set(self.site.hits.values())), (self.pages, {1}))

    def test_a_page_that_was_queued_without_an_answer_stays_in_the_queue_of_a_run_that_is_stopped(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.MissesAnswer", CLOSESPIDER_PAGECOUNT=20)
        self.assertEqual(stats.get("finish_reason"), "closespider_pagecount", stats["log"][-3000:])
        self.assert_all_done(self.crawl())
        # The page is fetched again, because its links may not have been fetched.
        self.assertEqual(self.site.hits["/page/0"], 2)

    def test_a_page_whose_lease_expires_is_fetched_once_by_a_run(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.LeasesAgain")
        self.assertEqual((stats.get("leased_again"), stats.get("finish_reason")), (1, "finished"), stats["log"][-3000:])
        self.assertEqual((len(self.site.hits), set(self.site.hits.values())), (self.pages, {1}))

    def test_a_page_that_is_acknowledged_too_late_is_acknowledged_again(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.AcknowledgesLate")
        self.assertGreater(stats.get("acknowledged_late", 0), 0, stats["log"][-3000:])
        self.assert_all_done(stats)
        self.assertEqual(set(self.site.hits.values()), {1})

    def test_a_lease_waits_for_an_answer_about_its_links_and_makes_no_other_call(self) -> None:
        scheduler: Any = QueuedScheduler.__new__(QueuedScheduler)
        scheduler._flush_later, scheduler._in_thread, scheduler._url_of = Mock(), Mock(), {}
        leases = scheduler._leases = Leases()
        page = Request(self.site.page(1))
        leases.add(["lease"])
        leases.attach(page, "lease")
        leases.begin_batch()
        batch = leases.asked()
        leases.detach(page)
        leases.begin_batch()
        scheduler._acknowledge()
        scheduler._flush_later.assert_not_called()
        scheduler._batch_ended(batch)
        scheduler._flush_later.assert_called_once_with()
        scheduler._in_thread.assert_not_called()
        scheduler._acknowledge()
        scheduler._in_thread.assert_called_once()

    def test_an_acknowledgement_that_is_repeated_after_an_outage_may_be_too_late(self) -> None:
        scheduler: Any = QueuedScheduler.__new__(QueuedScheduler)
        calls: List[Any] = []
        scheduler._in_thread = lambda act: calls.append(Deferred()) or calls[-1]
        scheduler._outage, scheduler._extend_later, scheduler._again, scheduler._done_late = Mock(), Mock(), {}, Passed()
        scheduler._url_of = {"lease": b"the page"}
        leases = scheduler._leases = Leases()
        page = Request(self.site.page(1))
        leases.add(["lease"])
        leases.attach(page, "lease")
        leases.detach(page)
        leases.begin_batch()
        scheduler._acknowledge()
        # Leases are extended while the service does not answer the acknowledgement.
        scheduler._extend()
        calls[-1].errback(RuntimeError("away"))
        scheduler._acknowledge()
        calls[-1].callback(["expired"])
        self.assertTrue(scheduler._done_late.has(b"the page"))

    def test_a_lease_is_extended_by_one_call_at_a_time_and_soon_again_if_that_fails(self) -> None:
        scheduler: Any = QueuedScheduler.__new__(QueuedScheduler)
        calls: List[Any] = []
        scheduler._in_thread = lambda act: calls.append(Deferred()) or calls[-1]
        scheduler._outage, scheduler._after, scheduler._url_of, scheduler._extend_failed = Mock(), Mock(), {}, False
        scheduler._options = Mock(lease_seconds=60)
        leases = scheduler._leases = Leases()
        scheduler._extend()
        scheduler._after.assert_called_once_with("extend", 20, scheduler._extend)
        leases.add(["lost", "kept"])
        away = RuntimeError("away")
        for answer, seconds in ((["expired", "extended"], 20), (away, 1), (away, 1), (["extended"], 20), (away, 1)):
            scheduler._after.reset_mock()
            scheduler._extend()
            scheduler._after.assert_not_called()
            call_it = calls[-1].errback if isinstance(answer, Exception) else calls[-1].callback
            call_it(answer)
            scheduler._after.assert_called_once_with("extend", seconds, scheduler._extend)
            self.assertEqual(leases.held(), ["kept"])
        # Each outage counts the leases once.
        self.assertEqual(scheduler._outage.failed.call_count, 2)

    def test_two_crawls_that_hold_pages_to_the_end_do_not_wait_for_each_other(self) -> None:
        self.site.links = lambda path: ["/page/2"] if path == "/page/0" else ()
        both = threading.Event()
        self.site.on_hit = lambda path: both.set() if path == "/page/1" else both.wait(LONGEST)
        first = self.start(SCHEDULER="tests.crawl.HoldsFirst")
        until("the first page is fetched", lambda: self.site.hits["/page/0"] == 1)
        second = start_crawl([self.site.page(1)], {**self.settings, "SCHEDULER": "tests.crawl.HoldsFirst"}, follows=True)
        for stats in (ended(first), ended(second)):
            self.assertEqual(stats.get("finish_reason"), "finished", stats["log"][-3000:])
        # The crawl that ends last may have fetched a page of the other again.
        queue = self.queue()
        self.assertEqual((queue["leased"], queue["delayed"] > 0), (0, True))

    def test_a_crawl_does_not_mistake_leases_that_it_acknowledges_for_leases_of_others(self) -> None:
        # Each waiting acknowledgement takes one of four places for calls, and the look needs one.
        self.site.links = lambda path: [f"/page/{i}" for i in range(1, 4)] if path == "/page/0" else ()
        stats = self.crawl(SCHEDULER="tests.crawl.LooksBeforeAcknowledging")
        self.assertEqual((stats.get("looked_before"), stats.get("finish_reason")), (1, "finished"), stats["log"][-3000:])
        # The next run gets the pages that the first run held to its end.
        self.assertEqual((self.queue()["waiting"], self.queue()["delayed"]), (1, 0))

    def test_a_busy_crawl_holds_its_pages_while_it_waits_for_others(self) -> None:
        idle: Dict[str, Any] = {"_asking": 0, "_overlapped": False, "_waiting": [], "mqs": [], "_ending": False, "inprogress": set()}
        busy: List[Dict[str, Any]] = [
            *({"_asking": 1}, {"_overlapped": True}, {"_waiting": [1]}, {"mqs": [1]}),
            *({"_ending": True}, {"inprogress": {1}}),
        ]
        for state in ({}, *busy):
            with self.subTest(**state):
                scheduler: Any = QueuedScheduler.__new__(QueuedScheduler)
                vars(scheduler).update({**idle, **state, "dqs": None, "_fetching": set()})
                scheduler.crawler = Mock()
                scheduler.crawler.engine._slot.inprogress = {**idle, **state}["inprogress"]
                scheduler._poll, scheduler._in_thread = Mock(), Mock()
                scheduler._leases = Leases()
                scheduler._leases.add(["held"])
                scheduler._looked({"waiting": 0, "leased": 2})
                scheduler._poll.assert_called_once_with()
                self.assertEqual(scheduler._leases.held(), ["held"] if state else [])

    def test_a_scheduler_derived_from_this_one_has_a_queue_too(self) -> None:
        stats = self.crawl(SCHEDULER="tests.crawl.Derived")
        self.assert_all_done(stats)
        self.assertEqual(stats.get("derived"), 1)

    def test_failing_pages_are_not_tried_forever(self) -> None:
        self.site.links = lambda path: ()
        pages = [self.site.page(0), f"{self.site.url}/broken/1", f"{self.site.url}/gone/1"]
        stats = crawl(pages, self.settings, fails=["/page/0"])
        self.assertEqual((stats.get("finish_reason"), stats.get("unseen/left")), ("finished", 0), stats["log"][-3000:])
        self.assertEqual(self.site.hits, {"/page/0": 1, "/broken/1": 2, "/gone/1": 1})


if __name__ == "__main__":
    unittest.main()
