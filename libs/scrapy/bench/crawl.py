"""Follows all links of a site: crawl.py URL SETTINGS_AS_JSON. Prints the number of pages and the time as JSON."""

import json
import sys
import time
from typing import Any, AsyncIterator, Iterator

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess
from scrapy.http import Response

SETTINGS = {
    "LOG_LEVEL": "WARNING",
    "TELNETCONSOLE_ENABLED": False,
    "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
    "CONCURRENT_REQUESTS": 16,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
}


class Links(Spider):
    name = "links"

    def start_requests(self) -> Iterator[Request]:
        yield Request(sys.argv[1])

    async def start(self) -> AsyncIterator[Request]:
        """Later versions of Scrapy call this."""
        for request in self.start_requests():
            yield request

    def parse(self, response: Response, **_: Any) -> Iterator[Request]:
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)


def main() -> None:
    process = CrawlerProcess({**SETTINGS, **json.loads(sys.argv[2])})
    crawler = process.create_crawler(Links)
    process.crawl(crawler)
    started = time.process_time()
    process.start()
    stats = crawler.stats.get_stats()
    print(
        json.dumps(
            {
                "pages": stats.get("response_received_count", 0),
                "seconds": stats["elapsed_time_seconds"],
                "cpuSeconds": time.process_time() - started,
                "filtered": stats.get("dupefilter/filtered", 0),
            }
        )
    )


main()
