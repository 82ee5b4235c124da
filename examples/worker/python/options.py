"""The command line."""

import argparse
import math
import re
from typing import Callable, Set

from pages import host_of


def whole(least: int, most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"[0-9]{1,9}", text) or not least <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"must be a whole number from {least} to {most}, not {text!r}")
        return int(text)

    return read


def seconds(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or not least <= float(text) <= most:
            raise argparse.ArgumentTypeError(f"must be seconds from {least:g} to {most:g}, not {text!r}")
        return float(text)

    return read


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="A worker on the queue of a visited set.")
    add = parser.add_argument
    add("service", metavar="SERVICE", help="such as http://127.0.0.1:3000 (its key: UNSEEN_API_KEY)")
    add("set", metavar="SET", help="the visited set; workers of one set share its queue")
    add("starts", metavar="START", nargs="+", help="where the crawl begins")
    add("--concurrency", type=whole(1, 250), default=8, help="pages fetched at once (8)")
    add("--held", type=whole(1, 1000), help="URLs leased at once, most of which wait for their host (4 x concurrency)")
    add("--delay", type=seconds(0, 3600), default=1.0, help="seconds between two requests to a host (1)")
    add("--user-agent", default="unseen-worker/1.0", help='the part before "/" is looked up in robots.txt')
    add("--host", action="append", default=[], help="follow links to this host, too (the hosts of START)")
    add("--any-host", action="store_true", help="follow links to whatever host")
    add("--max-depth", type=whole(0, 1_000_000), default=math.inf, help="follow links so many steps")
    add("--max-bytes", type=whole(1, 100_000_000), default=2_000_000, help="read so much of a page (2000000)")
    add("--timeout", type=seconds(0.1, 3600), default=30.0, help="seconds of a fetch (30)")
    add("--lease", type=whole(3, 86_400), default=60, help="seconds the URLs of a worker that dies are away (60)")
    add("--attempts", type=whole(1, 1_000_000), default=8, help="how often a URL is tried (8)")
    add("--retry", type=seconds(0, 3600), default=10.0, help="seconds a URL that failed is away, doubled each time (10)")
    add("--forever", action="store_true", help="wait for more when the queue is empty")
    options = parser.parse_args()
    try:
        hosts: Set[str] = {*map(host_of, options.starts), *(host_of(f"http://{host}") for host in options.host)}
    except ValueError as error:
        parser.error(str(error))
    if options.held is None:
        options.held = 4 * options.concurrency
    elif options.held < options.concurrency:
        parser.error(f"--held must be at least --concurrency, {options.concurrency}, not {options.held}")
    # Where there is one host only, no other is to be kept from its turn.
    options.per_host = math.inf if len(hosts) == 1 and not options.any_host else math.ceil(options.held / 4)
    options.hosts = None if options.any_host else frozenset(hosts)
    return options


