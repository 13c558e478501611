"""The thread that steps, and how coroutines wait for what it finds."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading

_LOG = logging.getLogger("tenon.serve")


class Worker:
    """Brings the requests of a Generator on, in a thread of its own, while there are any."""

    def __init__(self, generator, threads=None):
        self._generator, self._threads = generator, threads
        self._there_is_work = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._run, name="tenon-serve", daemon=True)

    def start(self):
        self._thread.start()

    def stop(self):
        self._is_over = True
        self._there_is_work.set()
        self._thread.join()

    def wake(self):
        self._there_is_work.set()

    def _run(self):
        engine = self._generator.engine
        while not self._is_over:
            self._there_is_work.clear()
            try:
                had_work = engine.step(self._threads)
            except Exception as error:  # a bug: whoever waits is told, and the server goes on
                _LOG.exception("a step of the model failed")
                engine.fail(error)
                continue
            if not had_work:
                self._there_is_work.wait()


class Answer:
    """A request whose pieces a coroutine awaits."""

    def __init__(self, generator, worker, prompt, **options):
        self._generator, self._worker = generator, worker
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self._prompt, self._options = prompt, options
        self.request = None

    def submit(self):
        """May be called in another thread: texts become tokens here. Error: what Generator.request() says."""
        self.request = self._generator.request(self._prompt, on_change=self._tell, **self._options)
        self._worker.wake()

    def _tell(self, _):
        with contextlib.suppress(RuntimeError):  # a loop that is closed: nobody waits any more
            self._loop.call_soon_threadsafe(self._changed.set)

    async def pieces(self):
        """Texts as they come, until the request has ended."""
        while True:
            self._changed.clear()
            is_over = self.request.reason is not None
            text = ""
            while self.request.pieces:
                text += self.request.pieces.popleft()
            if text:
                yield text
            if is_over:
                return
            await self._changed.wait()

    def result(self):
        return self._generator.result(self.request)

    def cancel(self):
        if self.request is not None:
            self._generator.engine.cancel(self.request)
            self._worker.wake()
