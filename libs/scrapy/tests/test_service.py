"""Answers that didn't come from the service, or didn't arrive completely."""

import socket
import threading
import unittest
from typing import Any, List
from unittest.mock import patch

from scrapy.settings import Settings
from tests.support import UNSEEN, call, fresh_name

from scrapy_unseen.kept_keys import Key
from scrapy_unseen.options import options_of
from scrapy_unseen.service import Service, ServiceError, ServiceUnavailable
from scrapy_unseen.visited import Visited

GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
BUSY = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nContent-Length: 0\r\n"


class Answers:
    """Gives one answer per connection, and then repeats the last one."""

    def __init__(self, *answers: bytes) -> None:
        self.count = 0
        self._answers: List[bytes] = list(answers)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._run, daemon=True).start()

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65_536)
                self.count += 1
                connection.sendall(self._answers.pop(0) if len(self._answers) > 1 else self._answers[0])


class ServiceTest(unittest.TestCase):
    def service(self, *answers: bytes, timeout: float = 60) -> Any:
        server = Answers(*answers)
        self.addCleanup(server.close)
        service = Service(server.url, None, timeout)
        self.addCleanup(service.close)
        return service, server

    def test_retries_calls_that_were_cut_off_or_postponed(self) -> None:
        for cut in (
            b"",
            b"HTTP/1.1 200 OK\r\n",
            b"HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{",
            BUSY + b"\r\n",
            BUSY + b"Retry-After: soon\r\n\r\n",
            BUSY + b"Retry-After: \xb2\r\n\r\n",
        ):
            with self.subTest(cut=cut):
                service, server = self.service(cut, GOOD)
                self.assertEqual(service.post("/"), {})
                self.assertEqual(server.count, 2)

    def test_truncates_a_reason_to_the_limit_of_the_service(self) -> None:
        visited = Visited(options_of(Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": fresh_name()}), "x"), lambda _: b"")
        self.addCleanup(visited.close)
        visited.open()
        visited.discover([Key(True, "http://a.example/")], ["x"], [0])
        (lease,) = visited.lease(1, 60)
        visited.put_off([lease["id"]], 60, "é" * 300)
        self.assertEqual(visited.queue()["delayed"], 1)

    def test_reports_answers_that_are_not_the_services(self) -> None:
        deep = b"[" * 100_000
        for body in (b"<html>", deep, b'{"results":'):
            service, _ = self.service(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            with self.subTest(body=body[:20]), self.assertRaisesRegex(ServiceError, "not from an Unseen service"):
                service.post("/")

    def test_while_known_to_be_unavailable_the_service_is_tried_once_without_waiting(self) -> None:
        service, server = self.service(BUSY + b"\r\n", timeout=10)
        now = [0.0]

        def clock() -> float:
            # An attempt reads the clock twice, so it takes two seconds, even on a slow machine.
            now[0] += 1
            return now[0]

        counts = [0]
        with patch.multiple("scrapy_unseen.service", AWAY_SECONDS=2, MOST_WAIT=0.05), patch("time.monotonic", clock):
            # Another attempt is due before the second call and the last one, but not before the third.
            for passes in (0, 100, 0, 100):
                now[0] += passes
                with self.assertRaisesRegex(ServiceUnavailable, "503"):
                    service.post("/")
                counts.append(server.count)
        _, first, second, third, last = counts
        self.assertGreater(first, 1)
        self.assertEqual((second, third, last), (first + 1, first + 1, first + 2))

    def test_a_refusal_ends_an_outage(self) -> None:
        refused = b'HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 16\r\n\r\n{"code":"NOT_X"}'
        service, server = self.service(BUSY + b"Retry-After: 100\r\n\r\n", refused, BUSY + b"\r\n", GOOD)
        with patch("scrapy_unseen.service.AWAY_SECONDS", 0), self.assertRaises(ServiceUnavailable):
            service.post("/")
        with patch("scrapy_unseen.service.AWAY_SECONDS", 60), self.assertRaisesRegex(ServiceError, "NOT_X"):
            service.post("/")
        # This call waits again.
        with patch("scrapy_unseen.service.AWAY_SECONDS", 0):
            self.assertEqual(service.post("/"), {})
        self.assertEqual(server.count, 4)

    def test_a_closing_crawl_waits_for_no_retry(self) -> None:
        service, server = self.service(BUSY + b"Retry-After: 100\r\n\r\n", timeout=3_600)
        with patch("scrapy_unseen.service.CLOSE_SECONDS", 60):
            service.hurry()
            for _ in range(2):
                with self.assertRaises(ServiceUnavailable):
                    service.post("/")
        self.assertEqual(server.count, 1)


class VisitedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.name = fresh_name()
        settings = Settings({"UNSEEN_URL": UNSEEN, "UNSEEN_SET": self.name})
        self.visited = Visited(options_of(settings, "spider"), lambda request: b"")
        self.addCleanup(self.visited.close)
        self.visited.open()

    def test_urls_that_no_set_accepts_are_told_apart_and_forgotten_like_others(self) -> None:
        keys = [Key(True, f"https://example.org/{letter * 9_000}") for letter in "ab"] + [Key(True, "https://example.org/")]
        self.assertEqual(self.visited.visit(keys[1:]), [False, False])
        self.assertEqual(self.visited.ask(keys), [False, True, True])
        self.visited.forget(keys[1:])
        self.assertEqual(self.visited.visit(keys), [False, False, False])

    def test_a_dropped_set_is_created_again(self) -> None:
        keys = [Key(True, "https://example.org/"), Key(False, "f" * 40)]
        self.visited.visit(keys)
        for path in (f"visited-sets/{self.name}", f"filters/{self.name}.requests"):
            call("DELETE", f"/v1/{path}")
        self.assertEqual(self.visited.visit(keys), [False, False])
        self.assertEqual(self.visited.ask(keys), [True, True])


if __name__ == "__main__":
    unittest.main()
