"""No Ctrl-C is lost, whatever it falls into."""

import os
import random
import signal
import sys
import threading
import time

import pytest

from bayou.__main__ import run
from bayou.cli import interrupt
from bayou.cli.messages import Messages

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")


@pytest.fixture(autouse=True)
def _heeded():
    """A job in the background of a shell ignores Ctrl-C; here it must not."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def presser(after):
    def send():
        time.sleep(after)
        os.kill(os.getpid(), signal.SIGINT)

    return threading.Thread(target=send)


def test_a_press_around_the_start_of_a_read_ends_it():
    """A thousand tries, each pressed about when the read begins."""
    draw = random.Random(0)
    reader, writer = os.pipe()
    with interrupt.repeat_until_acknowledged():
        for _ in range(1000):
            pressed = presser(draw.random() * 4e-4)
            try:
                pressed.start()
                os.read(reader, 1)
                pytest.fail("nothing was there to read")
            except KeyboardInterrupt:
                interrupt.acknowledge()
            pressed.join()
    os.close(reader)
    os.close(writer)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_press_that_a_finaliser_swallows_is_raised_again():
    class Closing:
        def __del__(self):
            signal.raise_signal(signal.SIGINT)

    reader, writer = os.pipe()
    lost = False
    with interrupt.repeat_until_acknowledged():
        try:
            thing = Closing()
            del thing
            lost = True  # Python has dropped the exception
            os.read(reader, 1)
        except KeyboardInterrupt:
            interrupt.acknowledge()
    os.close(reader)
    os.close(writer)
    assert lost


def test_cleaning_up_is_not_disturbed():
    cleaned = False
    with interrupt.repeat_until_acknowledged():
        try:
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                time.sleep(0.5)  # longer than until the alarm
                cleaned = True
        except KeyboardInterrupt:
            time.sleep(0.3)
            interrupt.acknowledge()
        time.sleep(0.3)  # and once it was heard, it is over
    assert cleaned


def test_handlers_are_put_back():
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    with interrupt.repeat_until_acknowledged():
        assert signal.getsignal(signal.SIGINT) is not before[0]
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before


def test_the_brake_stops_after_the_pass_and_at_the_second_press_at_once(capsys):
    with interrupt.repeat_until_acknowledged(), interrupt.Brake(Messages()) as brake:
        assert not brake(None)
        signal.raise_signal(signal.SIGINT)
        assert brake(None)
        assert brake.stopped
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        interrupt.acknowledge()
    assert "press Ctrl-C again" in capsys.readouterr().err


def test_a_job_that_ignores_ctrl_c_goes_on_ignoring_it():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with interrupt.repeat_until_acknowledged(), interrupt.Brake(Messages()) as brake:
        signal.raise_signal(signal.SIGINT)
        assert not brake.pressed


def test_one_that_comes_while_the_verbs_are_read(monkeypatch, capsys):
    class Pressed:
        def find_spec(self, name, path=None, target=None):
            if name == "bayou.cli":
                raise KeyboardInterrupt

    for name in [name for name in sys.modules if name.split(".")[:2] == ["bayou", "cli"]]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    with pytest.raises(SystemExit) as left:
        run()
    assert left.value.code == 130
    assert capsys.readouterr().err == "bayou: interrupted; nothing was done\n"
