"""A spider that fetches nothing, for ``scrapy runspider``."""

from scrapy import Spider


class Nothing(Spider):
    name = "nothing"
