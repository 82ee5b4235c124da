import unittest

from scrapy import Request
from scrapy.http import Response

from scrapy_unseen.kept_keys import Key, is_of_run, is_redirected, keep, kept_keys

KEY = Key(True, "https://example.org/a")


class MarksTest(unittest.TestCase):
    def setUp(self) -> None:
        self.request = Request(KEY.text)
        keep(self.request, [KEY], "run")

    def test_stay_with_a_repeated_or_redirected_request(self) -> None:
        to = self.request.replace(url="https://example.org/b")
        to.meta["redirect_urls"] = [KEY.text]
        for request, redirected in ((self.request.replace(dont_filter=True), False), (to, True)):
            self.assertEqual((kept_keys(request), is_redirected(request)), ([KEY], redirected))
            self.assertTrue(is_of_run(request, "run"))
            self.assertFalse(is_of_run(request, "another"))

    def test_do_not_follow_the_meta_that_a_spider_passes_on(self) -> None:
        child = Response(KEY.text, request=self.request).follow("/child", meta=self.request.meta)
        self.assertEqual((kept_keys(child), is_redirected(child)), ([], False))
        self.assertEqual((kept_keys(Request(KEY.text)), kept_keys(None)), ([], []))


if __name__ == "__main__":
    unittest.main()
