import unittest

from scrapy.settings import Settings
from tests.support import UNSEEN, call, fresh_name

from scrapy_unseen import SettingError
from scrapy_unseen.options import Options, options_of
from scrapy_unseen.visited import Visited


def read(**settings: object) -> Options:
    return options_of(Settings(settings), "spider")


class OptionsTest(unittest.TestCase):
    def test_refuses_a_key_that_no_header_can_carry_and_does_not_show_it(self) -> None:
        for key in ("s3cret\nx", "s3cretü", "s3c ret"):
            with self.assertRaisesRegex(SettingError, "UNSEEN_API_KEY") as refused:
                read(UNSEEN_API_KEY=key)
            self.assertNotIn("s3c", str(refused.exception))
        self.assertEqual(read(UNSEEN_API_KEY=" s3cret\n").api_key, "s3cret")
        self.assertIsNone(read(UNSEEN_API_KEY="\n").api_key)

    def test_accepts_urls_that_can_be_called(self) -> None:
        for url in ("http://[::1]:3000", "https://example.org/unseen", "http://unseen:80"):
            self.assertEqual(read(UNSEEN_URL=f"{url}/").url, url)
        for url in ("http://a:65536", "http://a:b", "http://a/?b", "http://a/ü", "http://", "http://a b", "ftp://a", "http://key@a"):
            with self.subTest(url=url), self.assertRaisesRegex(SettingError, "UNSEEN_URL must be"):
                read(UNSEEN_URL=url)

    def test_marks_pages_in_the_queue_unless_something_else_keeps_them(self) -> None:
        self.assertEqual(read().visited_when, "queued")
        for elsewhere in ({"JOBDIR": "/tmp/job"}, {"UNSEEN_KEY": "fingerprint"}):
            self.assertEqual(read(**elsewhere).visited_when, "scheduled")
            self.assertEqual(read(**elsewhere, UNSEEN_VISITED_WHEN="queued").visited_when, "queued")

    def test_refuses_the_name_of_a_filter_that_is_not_a_visited_set(self) -> None:
        name = fresh_name()
        call("POST", "/v1/filters", {"name": name, "type": "counting", "capacity": 1_000, "errorRate": 1e-6})
        visited = Visited(read(UNSEEN_URL=UNSEEN, UNSEEN_SET=name), lambda request: b"")
        self.addCleanup(visited.close)
        with self.assertRaisesRegex(SettingError, f"{name} is a filter, not a visited set"):
            visited.open()


if __name__ == "__main__":
    unittest.main()
