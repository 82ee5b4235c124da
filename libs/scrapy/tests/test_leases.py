import unittest

from scrapy import Request

from scrapy_unseen.leases import Ends, Leases
from scrapy_unseen.kept_keys import Key

TARGET = Key(True, "http://a.example/target")


class LeasesTest(unittest.TestCase):
    def setUp(self) -> None:
        self.leases = Leases()
        self.page = Request("http://a.example/page")
        self.leases.add(["first", "second"])
        self.leases.attach(self.page, "first")

    def test_a_lease_is_acknowledged_after_the_batch_of_its_links_is_answered(self) -> None:
        self.assertTrue(self.leases.detach(self.page))
        self.assertEqual(self.leases.take_acknowledgeable(), {})
        self.leases.begin_batch()
        batch = self.leases.asked()
        self.assertEqual(self.leases.take_acknowledgeable(), {})
        self.leases.answered(batch)
        self.assertEqual(list(self.leases.take_acknowledgeable()), ["first"])
        self.assertEqual(self.leases.ends(), Ends([], ["second"], []))

    def test_a_lease_is_done_with_the_last_of_its_requests(self) -> None:
        retry = Request("http://a.example/page")
        self.leases.attach(retry, "first")
        self.assertFalse(self.leases.detach(self.page))
        self.assertTrue(self.leases.detach(retry))

    def test_no_lease_held_during_a_failed_batch_is_acknowledged(self) -> None:
        done = Request("http://a.example/done")
        self.leases.attach(done, "second")
        self.leases.detach(done)
        self.leases.begin_batch()
        batch = self.leases.asked()
        self.leases.hold_all()
        self.leases.answered(batch)
        self.assertFalse(self.leases.detach(self.page))
        self.leases.begin_batch()
        self.assertEqual(self.leases.take_acknowledgeable(), {})
        self.assertEqual(sorted(self.leases.held()), ["first", "second"])
        # A later lease is not affected.
        self.leases.add(["third"])
        later = Request("http://a.example/later")
        self.leases.attach(later, "third")
        self.leases.detach(later)
        self.leases.begin_batch()
        self.assertEqual(list(self.leases.take_acknowledgeable()), ["third"])

    def test_an_expired_lease_is_dropped_when_none_of_its_requests_is_in_progress(self) -> None:
        self.leases.remove_lost(["first", "second", "unknown"])
        self.assertEqual(self.leases.held(), ["first"])
        self.leases.hold_all()
        self.leases.detach(self.page)
        self.leases.remove_lost(["first"])
        self.assertEqual((self.leases.held(), len(self.leases)), ([], 0))

    def test_targets_of_redirects_are_released_only_with_their_lease(self) -> None:
        self.leases.add_target(self.page, TARGET)
        self.assertEqual(self.leases.ends().keys, [TARGET])
        self.leases.detach(self.page)
        self.assertEqual(self.leases.ends(), Ends(["first"], ["second"], []))

    def test_a_failed_lease_is_taken_with_its_targets_when_none_of_its_requests_is_in_progress(self) -> None:
        self.leases.add_target(self.page, TARGET)
        retry = Request("http://a.example/page")
        self.leases.attach(retry, "first")
        self.leases.fail("first")
        self.assertFalse(self.leases.detach(self.page))
        self.assertEqual(self.leases.take_failed(), ([], []))
        # The first lease can be taken without an answer about its links.
        self.leases.hold_all()
        self.assertTrue(self.leases.detach(retry))
        self.assertEqual(self.leases.take_failed(), (["first"], [TARGET]))
        self.assertEqual((self.leases.take_failed(), self.leases.held()), (([], []), ["second"]))

    def test_a_postponed_lease_is_taken_with_its_longest_time_when_none_of_its_requests_is_in_progress(self) -> None:
        self.leases.add_target(self.page, TARGET)
        self.leases.postpone("first", 5)
        self.leases.postpone("first", 3)
        self.assertEqual(self.leases.take_postponed(), ({}, []))
        self.leases.hold_all()
        self.assertTrue(self.leases.detach(self.page))
        self.assertEqual(self.leases.take_idle().held, ["second"])
        self.assertEqual(self.leases.take_postponed(), ({"first": 5}, [TARGET]))
        self.assertEqual((self.leases.take_postponed(), self.leases.held()), (({}, []), []))

    def test_a_page_fetched_without_its_lease_is_acknowledged_when_all_is_done(self) -> None:
        self.leases.hold_unasked("second")
        self.assertIn("second", self.leases.held())
        self.leases.hold_all()
        self.assertEqual(self.leases.ends(finished=False), Ends([], ["first", "second"], []))
        self.assertEqual(self.leases.ends(finished=True), Ends(["second"], ["first"], []))
        self.leases.remove_lost(["second"])
        self.assertEqual(self.leases.ends(finished=True), Ends([], ["first"], []))

    def test_an_idle_crawl_releases_the_leases_that_it_would_hold_to_the_end(self) -> None:
        self.leases.add(["unasked", "failed", "again"])
        self.leases.hold_unasked("unasked")
        self.leases.fail("failed")
        # The first lease has a request, and the second has none. One request was redirected.
        self.leases.add_target(self.page, TARGET)
        self.assertEqual(self.leases.take_idle(), Ends(["unasked"], ["second", "again"], []))
        self.assertEqual(self.leases.held(), ["first", "unasked", "failed"])
        self.leases.hold_all()
        self.leases.detach(self.page)
        self.assertEqual(self.leases.take_idle(), Ends(["unasked"], ["first"], [TARGET]))
        self.assertEqual(self.leases.take_failed(), (["failed"], []))

    def test_leases_whose_acknowledgement_failed_are_acknowledged_later(self) -> None:
        self.leases.detach(self.page)
        self.leases.begin_batch()
        ready = self.leases.take_acknowledgeable()
        self.leases.put_back(ready)
        self.assertIn("first", self.leases.held())
        self.assertEqual(self.leases.take_acknowledgeable(), ready)


if __name__ == "__main__":
    unittest.main()
