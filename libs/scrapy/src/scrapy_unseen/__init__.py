"""Scrapy with Unseen: which URLs a crawl has seen, across runs and machines, and forgetting one."""

from .dupefilter import DupeFilter
from .fingerprints import ScrapyRedisFingerprinter
from .middlewares import ForgetFailed, MarkCrawled
from .options import SettingError
from .scheduler import Scheduler

__all__ = ["DupeFilter", "ForgetFailed", "MarkCrawled", "Scheduler", "ScrapyRedisFingerprinter", "SettingError"]
