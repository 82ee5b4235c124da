import unittest

from scrapy import Request
from tests.support import Site, call, crawl, fresh_name

from scrapy_unseen import ScrapyRedisFingerprinter


class FingerprintsTest(unittest.TestCase):
    def test_equal_those_of_scrapy_redis(self) -> None:
        # Computed by RFPDupeFilter.request_fingerprint of scrapy-redis 0.9.
        for request, fingerprint in (
            (Request("https://example.org/b?z=1&a=2#x"), "768e0559f15eea3cf4ecbd8359d2caadba05efc8"),
            (Request("https://example.org/ü", method="POST", body=b"\x00x"), "63716de4e406c80386bd75fe328d88dd3ee36505"),
        ):
            self.assertEqual(ScrapyRedisFingerprinter().fingerprint(request).hex(), fingerprint)

    def test_pages_that_scrapy_redis_has_seen_are_not_fetched(self) -> None:
        site = Site()
        self.addCleanup(site.close)
        pages = [site.page(i) for i in range(10)]
        name = fresh_name()
        seen = [ScrapyRedisFingerprinter().fingerprint(Request(page)).hex() for page in pages[:7]]
        call("POST", "/v1/filters", {"name": f"{name}.requests", "type": "counting", "capacity": 1_000, "errorRate": 1e-6})
        call("POST", f"/v1/filters/{name}.requests/items/add", {"items": seen})
        settings = {
            "UNSEEN_SET": name,
            "UNSEEN_KEY": "fingerprint",
            "REQUEST_FINGERPRINTER_CLASS": "scrapy_unseen.ScrapyRedisFingerprinter",
        }
        stats = crawl(pages, settings)
        self.assertEqual((stats.get("bloomfilter/filtered"), stats.get("response_received_count")), (7, 3), stats["log"])
        # The other requests were also added.
        self.assertEqual(call("GET", f"/v1/filters/{name}.requests")["items"], 10)


if __name__ == "__main__":
    unittest.main()
