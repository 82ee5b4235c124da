import unittest

from scrapy_unseen.outage import Outage
from scrapy_unseen.passed import Passed, Run


class OutageTest(unittest.TestCase):
    def test_logs_at_once_then_once_a_minute_then_at_the_end(self) -> None:
        now = [0.0]
        outage = Outage(lambda: now[0])
        with self.assertLogs("scrapy_unseen") as logs:
            outage.answered()
            for now[0] in (0, 1, 59, 60, 61):
                outage.failed(10, "not fetched", "refused")
            outage.answered()
            outage.answered()
        said = [record.getMessage() for record in logs.records]
        self.assertEqual(said[:2], [f"Unseen did not answer, so {n} requests are not fetched: refused" for n in (10, 30)])
        self.assertEqual(said[2:], ["Unseen answers again. Calls for 50 requests failed"])


class PassedTest(unittest.TestCase):
    def test_remembers_the_latest_requests_and_those_found_again(self) -> None:
        passed = Passed(most=10)
        prints = [bytes([i]) * 20 for i in range(30)]
        for one in prints:
            passed.add(one)
            self.assertTrue(passed.has(prints[0]))
        self.assertTrue(all(passed.has(one) for one in prints[-3:]))
        self.assertFalse(any(passed.has(one) for one in prints[1:15]))
        self.assertTrue(passed.drop(prints[0]))
        self.assertFalse(passed.drop(prints[0]))

    def test_a_run_lets_a_request_through_without_asking_once(self) -> None:
        run, one, other = Run(), b"1" * 20, b"2" * 20
        run.let_through(other)
        self.assertEqual([run.let_through_unasked(fp) for fp in (one, one, other)], [True, False, False])
        self.assertEqual([run.was_unasked(fp) for fp in (one, one, other)], [True, False, False])
        run.forget(one)
        self.assertTrue(run.let_through_unasked(one))


if __name__ == "__main__":
    unittest.main()
