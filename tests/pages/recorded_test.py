#!/usr/bin/env python3
"""Opens pages of recorded data in headless Chromium, with the checks that pages of simulated data get (pages_test.py).

    tests/pages/recorded_test.py --command build/tautline --data ../shared/data [--screenshots DIR] [--only NAME]
"""
import argparse
import pathlib
import sys
import tempfile

import browser
import pages_test
from makers import Maker


class Recorded(Maker):
    """Pages of the files in `data`."""

    def __init__(self, command, folder, data):
        super().__init__(command, folder, seed=0)  # nothing is simulated
        self.data = data

    def file(self, name):
        return self.data / name

    def drawn(self, name, page):
        return self.plotted(self.file(name), page)

    def search_of_a_band(self):
        """A threshold that noise exceeds too: there is no bright pulse."""
        self.tautline("search", self.file("filterbank/parkes_8bit_1.fil"), "-o", "parkes.csv", "--dms", "0:200:5",
                      "--threshold", 5, "--plot", "parkes")
        return "parkes/candidates.html"

    def search_of_a_series(self):
        """A pulsar: hundreds of pulses at one DM."""
        self.tautline("search", self.file("filterbank/GBT_J1807-0847.dat"), "-o", "pulsar.csv", "--plot", "pulsar")
        return "pulsar/candidates.html"

    def visibilities(self):
        """Eight snapshots of 4 ms, a minute apart."""
        if not (self.folder / "tart.uvh5").exists():
            snapshots = sorted(self.file("tart").glob("*.dada"))
            self.tautline("correlate", *snapshots, "--array", self.file("tart/array.toml"), "--channels", 256,
                          "--taps", 4, "-o", "tart.uvh5", "--report", "tart.html")
        return "tart.uvh5"

    def fringes_of_satellites(self):
        self.visibilities()
        return "tart.html"

    def fit_of_a_focus(self):
        self.tautline("autocorrelate", self.file("fcs/Point_1.pt3"), "-o", "focus.h5", "--bin", "10us")
        self.tautline("fit", "focus.h5", "-o", "focus.csv", "--model", "3d", "--range", "10us:100ms", "--max-chi2", 10,
                      "--report", "focus.html", status=(0, 3))
        return "focus.html"

    def figure_of_a_band(self):
        return self.drawn("filterbank/parkes_8bit_1.fil", "band.html")

    def figure_of_stopped_channels(self):
        """One bit a sample: channels that stand still."""
        return self.drawn("filterbank/parkes_1bit.fil", "bits.html")

    def figure_of_a_pulsar(self):
        return self.drawn("filterbank/GBT_J1807-0847.tim", "series.html")

    def figure_of_candidates(self):
        if not (self.folder / "pulsar.csv").exists():
            self.search_of_a_series()
        return self.plotted("pulsar.csv", "pulses.html")

    def figure_of_a_snapshot(self):
        return self.drawn("tart/tart_20131020T020203.dada", "snapshot.html")

    def figure_of_visibilities(self):
        return self.plotted(self.visibilities(), "visibilities.html")

    def figure_of_tags(self):
        return self.drawn("fcs/v20_t3.ptu", "tags.html")

    def figure_of_a_curve(self):
        return self.drawn("fcs/ALV-7004.ASC", "alv.html")

    def figure_of_four_curves(self):
        return self.drawn("fcs/Correlator.com_Integer-Mode.SIN", "sin.html")

    def figure_of_a_curve_with_errors(self):
        return self.drawn("fcs/PyCorrFit_CC_A488_withVariance.csv", "pycorrfit.html")


PAGES = (Recorded.search_of_a_band, Recorded.search_of_a_series, Recorded.fringes_of_satellites,
         Recorded.fit_of_a_focus, Recorded.figure_of_a_band, Recorded.figure_of_stopped_channels, Recorded.figure_of_a_pulsar,
         Recorded.figure_of_candidates, Recorded.figure_of_a_snapshot, Recorded.figure_of_visibilities,
         Recorded.figure_of_tags, Recorded.figure_of_a_curve, Recorded.figure_of_four_curves,
         Recorded.figure_of_a_curve_with_errors)
pages_test.EXPECTED.update({
    "fringes_of_satellites": {"/8 min|7 min/.test(document.querySelector('.subtitle').textContent)": True},
    "fit_of_a_focus": {pages_test.ERROR_BARS: True},
})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--data", required=True, type=pathlib.Path)
    parser.add_argument("--screenshots", type=pathlib.Path, help="a folder for pictures of every view")
    parser.add_argument("--only", help="one page: the name of its maker here")
    options = parser.parse_args()
    program = browser.find()
    if program is None or not options.data.exists():
        print("skipped:", browser.ABSENT if program is None else f"the recorded data are absent ({options.data})")
        return pages_test.SKIPPED
    if options.screenshots:
        options.screenshots.mkdir(parents=True, exist_ok=True)
    complaints = []
    with tempfile.TemporaryDirectory(prefix="tautline-pages-") as folder, browser.Browser(program) as chromium:
        chromium.call("Page.addScriptToEvaluateOnNewDocument", source=(pages_test.HERE / "record.js").read_text())
        maker = Recorded(options.command.resolve(), pathlib.Path(folder), options.data.resolve())
        for make in PAGES:
            if options.only in (None, make.__name__):
                page = maker.folder / make(maker)
                pages_test.look_at(chromium, page, make.__name__, options.screenshots, complaints.append)
    return pages_test.verdict(complaints)


if __name__ == "__main__":
    sys.exit(main())
