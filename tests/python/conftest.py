"""Fresh random data in every run; the seed is printed, and `--seed` takes it again."""
import numpy as np
import pytest


def pytest_addoption(parser):
    parser.addoption("--seed", type=int, default=None, help="of the random data; fresh if not given")


def pytest_configure(config):
    if config.getoption("--seed") is None:
        config.option.seed = int(np.random.SeedSequence().entropy % 2**32)


def pytest_report_header(config):
    return f"seed {config.getoption('--seed')}"


@pytest.fixture
def rng(request):
    return np.random.default_rng(request.config.getoption("--seed"))
