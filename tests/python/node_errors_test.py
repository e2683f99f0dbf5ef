"""Python nodes that fail, graphs that cannot be, and runs that end early."""
import gc
import os
import signal
import subprocess
import sys
import time
import traceback
from typing import Any

import numpy as np
import pytest
import tautline as tl
from support import Pass, numbers

FUNCTIONS = ["open", "start", "produce", "begin_segment", "process", "end_segment", "finish", "publish", "counters"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_exceptions_are_the_runs_error(function: str) -> None:
    class Mine(Exception):
        pass

    def fail(*_: Any) -> None:
        raise Mine(f"of {function}")

    source, node = numbers(1000), Pass()
    setattr(source if function == "produce" else node, function, fail)
    p = tl.Pipeline()
    p.add("n", source)
    p.add("bad", node, inputs="n")
    p.add("after", Pass(), inputs="bad")
    with pytest.raises(Mine, match=f"of {function}") as caught:
        p.run()
    if function != "counters":
        assert ("n" if function == "produce" else "bad") in "".join(caught.value.__notes__)
        assert "fail" in "".join(traceback.format_tb(caught.value.__traceback__))


def test_what_cannot_be_given_is_refused() -> None:
    def give(result: Any) -> Any:
        class Bad(tl.Node):
            def process(self, block: tl.Block) -> Any:
                return result(block) if callable(result) else result

        p = tl.Pipeline()
        p.add("n", numbers(300))
        p.add("bad", Bad(), inputs="n")
        return p

    for result in (
        5,
        "x",
        {"y": np.zeros(100)},
        {"x": np.zeros(99)},
        {"x": np.zeros(101)},
        {"x": np.zeros((100, 1))},
        {"x": np.zeros(100, complex)},
        {"x": None, "valid": np.ones(100)},
        {"x": "text"},
        [{"x": np.zeros(100)}, 7],
        lambda block: block._replace(first=block.first + 1),
        lambda block: block._replace(samples=block.samples + 1),
    ):
        with pytest.raises((tl.ConfigError, TypeError, ValueError)):
            give(result).run()
    sink = type("Sink", (tl.Node,), {"open": lambda self, streams: None, "process": lambda self, block: block})()
    p = tl.Pipeline()
    p.add("n", numbers(300))
    p.add("s", sink, inputs="n")
    with pytest.raises(tl.ConfigError):
        p.run()


def test_what_cannot_be_added_is_refused() -> None:
    p = tl.Pipeline()
    node = p.add("n", numbers(10))
    assert node == "n" and "n" in repr(p)
    same = Pass()
    p.add("p", same, inputs=node)
    for arguments, options in (
        (("n", numbers(10)), {}),
        (("a.b", numbers(10)), {}),
        (("", numbers(10)), {}),
        (("q", "no_such_type"), {}),
        (("q", 5), {}),
        (("q", same), {"inputs": "n"}),
        (("q", Pass()), {"speed": 3}),
        (("q", "filter_bank"), {"speed": 3}),
        (("q", Pass()), {"depth": 0}),
    ):
        with pytest.raises(tl.ConfigError) as caught:
            p.add(*arguments, **options)
        assert caught.value.field
    for inputs in ("absent", "n.7", "p.x"):
        q = tl.Pipeline()
        q.add("n", numbers(10))
        q.add("p", Pass(), inputs=inputs)
        with pytest.raises(tl.ConfigError):
            q.run()
    with pytest.raises(tl.ConfigError):
        tl.Pipeline().run()
    q = tl.Pipeline()
    q.add("n", numbers(10))
    q.add("f", "filter_bank", inputs="n", channels=16)
    with pytest.raises(tl.ConfigError):
        list(q)  # no voltages


def test_a_loop_that_is_left_and_nodes_that_are_dropped() -> None:
    def threads() -> Any:
        return len(os.listdir("/proc/self/task"))

    blocks = before = None
    for k in range(20):
        if k == 5:  # what the library keeps is there
            before = threads()
        p = tl.Pipeline()
        p.add("n", numbers(10**6))
        p.add("p", Pass(), inputs="n")
        blocks = iter(p)
        next(blocks)
        del p
    del blocks
    gc.collect()
    until = time.monotonic() + 10
    while threads() > before and time.monotonic() < until:
        time.sleep(0.02)
    assert threads() <= before


def test_ctrl_c_ends_a_run_of_python_nodes() -> None:
    code = (
        "import numpy as np, tautline as tl, sys\n"
        "class S(tl.Node):\n"
        "    def open(self, streams): return tl.Stream('n', [tl.ArrayType('x', 'float32', ('time',), (10,))], max_samples=10)\n"
        "    def produce(self):\n"
        "        print('.', flush=True)\n"
        "        return {'x': np.zeros(10)}\n"
        "p = tl.Pipeline(); p.add('s', S())\n"
        "try: p.run()\n"
        "except KeyboardInterrupt: sys.exit(7)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 7


def test_an_interpreter_that_ends_while_a_run_goes_on() -> None:
    code = (
        "import numpy as np, tautline as tl\n"
        "class S(tl.Node):\n"
        "    def open(self, streams): return tl.Stream('n', [tl.ArrayType('x', 'float32', ('time',), (10,))], max_samples=10)\n"
        "    def produce(self): return {'x': np.zeros(10)}\n"
        "p = tl.Pipeline(); p.add('s', S())\n"
        "blocks = iter(p); next(blocks)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == ""
