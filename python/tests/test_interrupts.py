"""Ctrl-C while Tenon computes."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import tenon


@pytest.fixture
def interrupts():
    """Sets what an interrupt does, whatever the process began with: one in the background of a script ignores it."""
    before = signal.getsignal(signal.SIGINT)
    yield lambda handler: signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGINT, before)


def test_an_interrupt_ends_a_computation(interrupts):
    interrupts(signal.default_int_handler)
    x = tenon.tensor(np.random.default_rng(0).standard_normal((1200, 1200)).astype(np.float32))
    y = x
    for _ in range(300):
        y = (y @ x).tanh()
    threading.Timer(0.7, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        y.to_array()
        time.sleep(5)
    assert tenon.ones(3).sum().item() == 3


def test_interrupts_that_the_process_ignores_end_nothing(interrupts):
    interrupts(signal.SIG_IGN)
    x = tenon.tensor(np.random.default_rng(0).standard_normal((600, 600)).astype(np.float32))
    ended = threading.Event()

    def interrupt():
        while not ended.wait(0.001):
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    y = x
    for _ in range(10):
        y = (y @ x).tanh()
    assert y.to_array().shape == (600, 600)
    ended.set()
    thread.join()
