#!/usr/bin/env python3
"""The list of a search's page in headless Chromium: it sorts, takes marks and notes, keeps them and gives them back.

    tests/pages/candidate_list_test.py --command build/tautline
"""
import argparse
import os
import pathlib
import random
import sys
import tempfile
import unittest

import browser
import pages_test

# Rows as they stand, and a change as a reader makes it.
HELPERS = """
  const rows = () => [...document.querySelectorAll('#list tbody tr')];
  const column = (k) => rows().map((row) => row.children[k].textContent);
  const press = (name) => document.querySelector(`th[data-column=${name}] button`).click();
  const set = (field, value) => { field.value = value; field.dispatchEvent(new Event('change')); };
"""


class CandidateList(unittest.TestCase):
    options = None
    program = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="tautline-pages-")
        self.addCleanup(folder.cleanup)
        profile = tempfile.TemporaryDirectory(prefix="tautline-chromium-", ignore_cleanup_errors=True)
        self.addCleanup(profile.cleanup)
        self.profile = profile.name
        self.folder = pathlib.Path(folder.name)
        self.maker = pages_test.Maker(self.options.command.resolve(), self.folder, self.options.seed)
        self.maker.tautline("simulate", "filterbank", "--nchans", 64, "--fch1", 1500, "--foff", -4, "--tsamp", "512e-6",
                            "--duration", 8, "--pulse", "dm=80,time=3,width=0.004,snr=60", "--pulse",
                            "dm=20,time=6,width=0.002,snr=25", "--seed", self.options.seed, "-o", "obs.fil")
        self.search("0:120:1")

    def search(self, trials, *more):
        self.maker.tautline("search", "obs.fil", "-o", "c.csv", "--dms", trials, "--plot", "plot", *more)

    def in_page(self, script):
        """What a script returns in the page, which keeps its address and the browser its profile; a process of its own."""
        with browser.Browser(self.program, profile=self.profile) as chromium:
            chromium.open(self.folder / "plot/candidates.html")
            told = chromium.run("(() => {" + HELPERS + script + "})()")
            self.assertEqual(chromium.complaints(), [])
        return told

    def test_sorts_by_any_column(self):
        told = self.in_page("""
            const orders = {};
            for (const [name, k] of [['snr', 1], ['time_s', 2], ['dm', 3], ['width_samples', 4], ['members', 5]]) {
              const numbers = () => column(k).map(parseFloat);
              press('place');
              press(name);
              orders[name] = [numbers()];
              orders[name].push(document.querySelector(`th[data-column=${name}]`).getAttribute('aria-sort'));
              press(name);
              orders[name].push(numbers());
            }
            return orders;""")
        self.assertEqual(len(told), 5)
        for name, (falling, order, rising) in told.items():
            self.assertGreaterEqual(len(falling), 2)
            self.assertEqual(falling, sorted(falling, reverse=True), name)
            self.assertEqual(order, "descending", name)
            self.assertEqual(rising, sorted(rising), name)

    def test_says_what_was_filled(self):
        told = self.in_page("return document.querySelectorAll('#list th[data-column=filled]').length;")
        self.assertEqual(told, 0)  # of no candidate anything was
        path = self.folder / "obs.fil"
        file = bytearray(path.read_bytes())
        times, channels = 15625, 64
        data = len(file) - times * channels
        first = round(2.5 / 512e-6)  # a quarter of the band, around the pulse at 3 s
        for t in range(first, first + 3000):
            file[data + t * channels + 16:data + t * channels + 32] = bytes(16)
        path.write_bytes(file)
        self.search("0:120:1", "--overwrite")
        lines = (self.folder / "c.csv").read_text().splitlines()
        place = lines[0].split(",").index("filled")
        written = [float(line.split(",")[place]) for line in lines[1:]]
        self.assertGreater(max(written), 0.2)
        self.assertEqual(min(written), 0)
        shown, sorted_, text = self.in_page("""
            const k = [...document.querySelectorAll('#list th')].findIndex((one) => one.dataset.column === 'filled');
            const shown = column(k);
            press('filled');
            return [shown, column(k), page.list.text('csv')];""")
        numbers = [float(one or 0) for one in shown]
        self.assertEqual(len(numbers), len(written))
        for number, share in zip(numbers, written):
            self.assertAlmostEqual(number, 100 * share, delta=0.01 * 100 * share + 1e-3)
        self.assertEqual([float(one or 0) for one in sorted_], sorted(numbers, reverse=True))
        self.assertEqual(sorted(line.split(",")[place] for line in text.splitlines()[1:]),
                         sorted(line.split(",")[place] for line in lines[1:]))

    def test_marks_and_notes_survive_and_are_downloaded(self):
        chosen = self.in_page("""
            set(rows()[0].querySelector('select'), 'pulse');
            set(rows()[0].querySelector('input'), 'bright, "wide"');
            set(rows()[1].querySelector('select'), 'interference');
            rows()[0].click();
            return document.querySelector('#candidate .controls select').value;""")
        self.assertEqual(chosen, "pulse")
        # In a new process of the browser; and the mark of the chosen candidate is that of its row.
        (csv, yours), marks, note, changed, places = self.in_page("""
            const list = page.list, texts = [list.text('csv'), list.text('your')];
            const marks = rows().map((row) => row.querySelector('select').value);
            const note = rows()[0].querySelector('input').value;
            rows()[1].click();
            set(document.querySelector('#candidate .controls select'), 'unsure');
            const changed = rows()[1].querySelector('select').value;
            press('mark');
            return [texts, marks, note, changed, column(0).slice(0, 2)];""")
        self.assertEqual(marks[:2], ["pulse", "interference"])
        self.assertEqual(note, 'bright, "wide"')
        self.assertEqual(changed, "unsure")
        self.assertEqual(places, ["1", "2"])  # pulse, unsure; rows without a mark behind them
        written = (self.folder / "c.csv").read_text().splitlines()
        csv, yours = csv.splitlines(), yours.splitlines()
        self.assertEqual(len(csv), len(written))
        self.assertEqual(csv[0], written[0] + ",mark,note")
        self.assertEqual(csv[1], written[1] + ',pulse,"bright, ""wide"""')
        self.assertEqual(csv[2], written[2] + ",interference,")
        self.assertEqual(yours[0], "file,snr,stime,width,dm,label,chan_mask_path,num_files,mark,note")
        self.assertIn(",1,,1,pulse,", yours[1])
        self.assertIn(",0,,1,interference,", yours[2])

    def test_another_search_has_marks_of_its_own(self):
        self.in_page("set(rows()[0].querySelector('select'), 'pulse');")
        marks = "return rows().map((row) => row.querySelector('select').value);"
        self.assertEqual(self.in_page(marks)[0], "pulse")
        self.search("0:100:1", "--overwrite")
        told = self.in_page(marks)
        self.assertTrue(told)
        self.assertEqual(set(told), {""})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=int(os.environ.get("TAUTLINE_TEST_SEED", random.randrange(1 << 31))))
    CandidateList.options = parser.parse_args()
    CandidateList.program = browser.find()
    if CandidateList.program is None:
        print(f"skipped: {browser.ABSENT}")
        return pages_test.SKIPPED
    print("seed", CandidateList.options.seed)
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
