"""Fresh random data in every run; the seed is printed, and `--seed` takes it again."""
import signal
from typing import Any

import numpy as np
import pytest


def pytest_addoption(parser: Any) -> None:
    parser.addoption("--seed", type=int, default=None, help="of the random data; fresh if not given")


def pytest_configure(config: Any) -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's job in the background; tests of Ctrl-C need it
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--seed") is None:
        config.option.seed = int(np.random.SeedSequence().generate_state(1)[0])


def pytest_report_header(config: Any) -> Any:
    return f"seed {config.getoption('--seed')}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> Any:
    return np.random.default_rng(request.config.getoption("--seed"))
