"""Crawls pages with the settings in settings.py, and prints the URLs that it fetched. Forgets a page first, if told."""

import json
import os
import runpy
import sys

from scrapy import Request, Spider
from scrapy.crawler import CrawlerProcess

SETTINGS = {name: value for name, value in runpy.run_path("settings.py").items() if name.isupper()}
PAGES = json.loads(os.environ["PAGES"])
FORGET = os.environ.get("FORGET")

fetched = []


class MySpider(Spider):
    name = "myspider"

    def start_requests(self):
        if FORGET:
            runpy.run_path("forget.py")["forget"](self, FORGET)
        for page in PAGES:
            yield Request(page)

    def parse(self, response):
        fetched.append(response.url)


process = CrawlerProcess({**SETTINGS, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False})
process.crawl(MySpider)
process.start()
json.dump(sorted(fetched), sys.stdout)
