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
    parser = argparse.ArgumentParser(description="A worker on a visited set's queue.")
    add = parser.add_argument
    add("service", metavar="SERVICE", help="such as http://127.0.0.1:3000 (UNSEEN_API_KEY: its API key)")
    add("set", metavar="SET", help="the visited set; workers on one set share its queue")
    add("starts", metavar="START", nargs="+", help="where the crawl starts")
    add("--concurrency", type=whole(1, 250), default=8, help="concurrent fetches (8)")
    add("--delay", type=whole(0, 3600), default=1, help="seconds between two requests to a host, for a new set (1)")
    add("--user-agent", default="unseen-worker/1.0", help='robots.txt uses the part before "/"')
    add("--host", action="append", default=[], help="also follow links to this host (the hosts of START)")
    add("--any-host", action="store_true", help="follow links to all hosts")
    add("--max-depth", type=whole(0, 1_000_000), default=math.inf, help="follow links at most N steps")
    add("--max-bytes", type=whole(1, 100_000_000), default=2_000_000, help="maximum page size (2000000)")
    add("--timeout", type=seconds(0.1, 3600), default=30.0, help="time limit for a fetch in seconds (30)")
    add("--lease", type=whole(3, 86_400), default=60, help="seconds until a killed worker's URLs return (60)")
    add("--attempts", type=whole(1, 1_000_000), default=8, help="maximum attempts per URL (8)")
    add("--retry", type=seconds(0, 3600), default=10.0, help="delay in seconds before a retry, doubled (10)")
    add("--forever", action="store_true", help="wait for more URLs when the queue is empty")
    options = parser.parse_args()
    try:
        hosts: Set[str] = {*map(host_of, options.starts), *(host_of(f"http://{host}") for host in options.host)}
    except ValueError as error:
        parser.error(str(error))
    options.hosts = None if options.any_host else frozenset(hosts)
    return options


