"""
Imports the modules that a crawl uses by default, in the process that crawls are forked from. These imports take five
times as long as the rest of a small crawl.
"""

import sys
from typing import Any, Dict, Iterator

from scrapy.settings import default_settings
from scrapy.utils.misc import load_object

#: These modules install a reactor, but each crawl needs its own.
WITHOUT = ("scrapy.extensions.telnet.TelnetConsole", "scrapy.core.downloader.handlers.ftp.FTPDownloadHandler")


def _paths(settings: Dict[str, Any]) -> Iterator[str]:
    for name in ("DOWNLOADER_MIDDLEWARES_BASE", "SPIDER_MIDDLEWARES_BASE", "EXTENSIONS_BASE"):
        yield from settings[name]
    yield from settings["DOWNLOAD_HANDLERS_BASE"].values()
    for name in ("STATS_CLASS", "LOG_FORMATTER", "SPIDER_LOADER_CLASS", "DOWNLOADER", "DNS_RESOLVER", "ITEM_PROCESSOR"):
        yield settings[name]
    for name in ("PRIORITY_QUEUE", "MEMORY_QUEUE", "DISK_QUEUE"):
        yield settings[f"SCHEDULER_{name}"]
    yield settings["DOWNLOADER_CLIENTCONTEXTFACTORY"]


for path in _paths(vars(default_settings)):
    # Later versions of Scrapy use a plain word for some defaults.
    if path not in WITHOUT and "." in path:
        load_object(path)

if "twisted.internet.reactor" in sys.modules:
    raise RuntimeError("crawls would share a reactor")
