import unittest
from typing import Any

from scrapy import FormRequest, Request, Spider

from scrapy_unseen.payload import OtherSpider, payload_of, request_of

URL = "https://example.org/a"


class Given(Spider):
    name = "given"

    def found(self, response: Any) -> None:
        """A callback."""


class PayloadTest(unittest.TestCase):
    def setUp(self) -> None:
        self.spider = Given()

    def test_contains_the_members_of_a_request(self) -> None:
        for given in (
            {},
            {"callback": self.spider.found, "errback": self.spider.found, "priority": 3, "dont_filter": True},
            {"headers": {"Referer": "https://example.org/ü"}, "cookies": {"a": "b"}, "meta": {"depth": 2}, "cb_kwargs": {"n": [1]}},
        ):
            with self.subTest(**given):
                request = Request(URL, **given)
                payload = payload_of(request, self.spider)
                self.assertIsNotNone(payload)
                self.assertEqual(request_of(URL, payload, self.spider).to_dict(spider=self.spider), request.to_dict(spider=self.spider))

    def test_is_not_made_for_a_request_that_would_change(self) -> None:
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        for request in (
            Request(URL, callback=lambda response: None),
            Request(URL, meta={"pair": (1, 2)}),
            Request(URL, meta={"any": object()}),
            Request(URL, meta={"long": "x" * 1_024}),
            Request(URL, meta={1: 2}),
            Request(URL, meta={"deep": deep}),
            Request(URL, body="x"),
            FormRequest(URL),
        ):
            self.assertIsNone(payload_of(request, self.spider), request.to_dict)

    def test_a_spider_whose_properties_fail_loses_no_request(self) -> None:
        class Fails(Given):
            @property
            def session(self) -> Any:
                raise RuntimeError("no session yet")

        spider = Fails()
        # Scrapy examines all members of the spider to find the name of a callback.
        self.assertIsNone(payload_of(Request(URL, callback=spider.found), spider))

    def test_passes_urls_that_others_have_queued_to_parse(self) -> None:
        for payload in (None, "text", '{"scrapy":1}', "[]", "[" * 1_024):
            request = request_of(URL, payload, self.spider)
            self.assertEqual((request.callback, request.meta.get("unseen_payload")), (None, payload))
        with self.assertRaises(OtherSpider):
            request_of(URL, '{"scrapy":"other"}', self.spider)
        with self.assertRaisesRegex(ValueError, "has no method 'gone'"):
            request_of(URL, '{"scrapy":"given","callback":"gone"}', self.spider)

    def test_reports_a_payload_that_it_cannot_read(self) -> None:
        for more in (
            '"later":1',
            '"callback":"name"',
            '"callback":"__class__"',
            '"errback":7',
            '"priority":"x"',
            '"meta":7',
            '"headers":[]',
            '"headers":{"a":7}',
            '"encoding":"none"',
        ):
            with self.subTest(more), self.assertRaises(ValueError):
                request_of(URL, '{"scrapy":"given",%s}' % more, self.spider)


if __name__ == "__main__":
    unittest.main()
