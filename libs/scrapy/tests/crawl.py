"""A crawl of given URLs, in the order in which they are given. Prints its stats as JSON."""

import json
import sys
from typing import Any, AsyncIterator, Iterator

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

GIVEN = json.loads(sys.argv[1])
SPIDER = GIVEN["spider"]
AT_ONCE = 8


class Given(Spider):
    name = SPIDER.get("name", "given")
    handle_httpstatus_list = [503]

    def start_requests(self) -> Iterator[Request]:
        if SPIDER.get("slow"):
            # A few at a time, as links are found: else all would be asked about at once.
            self.left = list(GIVEN["urls"])
            self.crawler.signals.connect(self.one_more, signal=signals.request_dropped)
            yield from (Request(self.left.pop(0)) for _ in range(AT_ONCE))
            return
        for url in GIVEN["urls"]:
            method, _, target = url.rpartition(" ")
            yield Request(target, method=method or "GET", dont_filter=target in SPIDER.get("dont_filter", []))

    async def start(self) -> AsyncIterator[Request]:
        """Which later versions of Scrapy call."""
        for request in self.start_requests():
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if response.url.endswith(tuple(SPIDER.get("fails", []))):
            raise ValueError("the callback has failed")
        if response.url in SPIDER.get("forgets", []):
            self.crawler.unseen.forget(response.url)
        yield {"url": response.url}
        if getattr(self, "left", None):
            yield Request(self.left.pop(0))

    def one_more(self) -> None:
        from twisted.internet import reactor

        if self.left:
            reactor.callLater(0, self.crawler.engine.crawl, Request(self.left.pop(0)))


def main() -> None:
    settings = {
        "SCHEDULER": "scrapy_unseen.Scheduler",
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_TIMES": 1,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        **GIVEN["settings"],
    }
    process = CrawlerProcess(settings, install_root_handler=True)
    crawler = process.create_crawler(Given)
    process.crawl(crawler)
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps({key: value for key, value in stats.items() if isinstance(value, (int, float, str))}))


main()
