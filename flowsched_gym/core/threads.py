"""Threads that a forked process begins anew."""

import os
from concurrent.futures import ThreadPoolExecutor


class Pool:
    """Threads, >= 1, that work beside the one that calls, begun when there is work, and again in a forked process."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._process = 0

    def threads(self) -> ThreadPoolExecutor:
        """Returns the threads of this process: a fork copies the object, but not its threads."""
        if self._process != os.getpid():
            self._process = os.getpid()
            self._threads = ThreadPoolExecutor(self._count, "flowsched")
        return self._threads
