"""What every interoperability test needs: its arguments, astropy without downloads, checks that count, skipping."""
import argparse
import pathlib
import sys
import tempfile

import numpy as np


def offline():
    """astropy uses the tables that came with it, and never asks the network."""
    from astropy.utils import data, iers

    iers.conf.auto_download = False
    iers.conf.auto_max_age = None
    data.conf.allow_internet = False


def arguments(description, needs_command=False):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--programs", type=pathlib.Path, required=True, help="folder of the helper programs")
    parser.add_argument("--source", type=pathlib.Path, required=True, help="root of the source tree")
    parser.add_argument("--data", type=pathlib.Path, required=True, help="folder of real data; may be absent")
    parser.add_argument("--command", type=pathlib.Path, help="the tautline command")
    parser.add_argument("--seed", type=int, help="of the random data; fresh if not given")
    options = parser.parse_args()
    if needs_command and options.command is None:
        skip("this build has no command (TAUTLINE_CLI=OFF)")
    if options.seed is None:
        options.seed = int(np.random.SeedSequence().entropy % 2**32)
    print(f"seed {options.seed}")
    return options


def scratch():
    return tempfile.TemporaryDirectory(prefix="tautline-interop-")


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Checks:
    """Collects failures so that one run shows them all."""

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.where = ""

    def that(self, ok, message):
        if ok:
            self.passed += 1
        else:
            self.failures.append(f"{self.where}: {message}")
            print("FAILED", self.failures[-1])

    def same(self, got, expected, what):
        """Equal to the last bit."""
        got, expected = np.asarray(got), np.asarray(expected)
        ok = got.shape == expected.shape and np.array_equal(got, expected)
        detail = ""
        if not ok and got.shape == expected.shape:
            at = np.argwhere(got != expected)
            detail = f"; {len(at)} differ, first at {at[0] if len(at) else ''}"
        self.that(ok, f"{what}: shapes {got.shape} and {expected.shape}{detail}")

    def near(self, got, expected, tolerance, what):
        worst = float(np.max(np.abs(np.asarray(got) - np.asarray(expected)), initial=0.0))
        self.that(worst <= tolerance, f"{what}: differs by {worst}, more than {tolerance}")

    def finish(self):
        print(f"{self.passed} checks passed, {len(self.failures)} failed")
        sys.exit(1 if self.failures or not self.passed else 0)
