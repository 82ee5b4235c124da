"""A crawl of given URLs, in the order in which they are given. Prints its stats as JSON."""

import json
import sys
from typing import Any, AsyncIterator, Dict, Iterator, List

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from twisted.python.failure import Failure

AT_ONCE = 8


class Given(Spider):
    name = "given"
    handle_httpstatus_list = [503]

    def __init__(self, urls: List[str], behaviour: Dict[str, Any], **_: Any) -> None:
        super().__init__(behaviour.get("name"))
        self.urls = urls
        self.behaviour = behaviour

    def start_requests(self) -> Iterator[Request]:
        if self.behaviour.get("stays"):
            self.crawler.signals.connect(self.stay, signal=signals.spider_idle)
        if self.behaviour.get("late"):
            self.crawler.signals.connect(self.one_more_at_the_end, signal=signals.spider_closed)
        if self.behaviour.get("slow"):
            # A few at a time, as links are found: else all would be asked about at once.
            self.left = list(self.urls)
            self.crawler.signals.connect(self.one_more, signal=signals.request_dropped)
            yield from (Request(self.left.pop(0)) for _ in range(AT_ONCE))
            return
        for url in self.urls:
            method, _, target = url.rpartition(" ")
            dont_filter = target in self.behaviour.get("dont_filter", [])
            yield Request(target, method=method or "GET", dont_filter=dont_filter, errback=self.failed)

    async def start(self) -> AsyncIterator[Request]:
        """Which later versions of Scrapy call."""
        for request in self.start_requests():
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        if response.url.endswith(tuple(self.behaviour.get("fails", []))):
            raise ValueError("the callback has failed")
        if response.url in self.behaviour.get("forgets", []):
            self.crawler.unseen.forget(response.url)
        yield {"url": response.url}
        for link in self.behaviour.get("links", {}).get(response.url, []):
            yield Request(link, meta=response.meta)
        if getattr(self, "left", None):
            yield Request(self.left.pop(0))

    def failed(self, failure: Failure) -> None:
        self.logger.info("not handled: %s", failure.value)

    def stay(self) -> None:
        raise DontCloseSpider

    def one_more_at_the_end(self) -> None:
        self.crawler.engine.crawl(Request(self.behaviour["late"]))

    def one_more(self) -> None:
        from twisted.internet import reactor

        if self.left:
            reactor.callLater(0, self.crawler.engine.crawl, Request(self.left.pop(0)))


def run(urls: List[str], settings: Dict[str, Any], behaviour: Dict[str, Any]) -> None:
    all_settings = {
        "SCHEDULER": "scrapy_unseen.Scheduler",
        "LOG_LEVEL": "INFO",
        "TELNETCONSOLE_ENABLED": False,
        "RETRY_TIMES": 1,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "DOWNLOAD_DELAY": 0,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
        **settings,
    }
    process = CrawlerProcess(all_settings, install_root_handler=True)
    crawler = process.create_crawler(Given)
    # Twisted tells of a failure that nobody has looked at when it is thrown away, which a process that was forked does not wait for.
    crawling = process.crawl(crawler, urls=urls, behaviour=behaviour)
    crawling.addErrback(lambda failure: sys.stderr.write(failure.getTraceback()))
    process.start()
    stats = crawler.stats.get_stats()
    print(json.dumps({key: value for key, value in stats.items() if isinstance(value, (int, float, str))}))
