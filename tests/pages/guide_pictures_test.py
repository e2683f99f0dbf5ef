#!/usr/bin/env python3
"""The pictures that the docs name are there, guide_pictures.py knows how each is made, and it makes one of them.

    tests/pages/guide_pictures_test.py --command build/tautline
"""
import argparse
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest

import browser
import guide_pictures
from makers import Maker

FIGURES = guide_pictures.ROOT / "docs/guide/figures"
MADE = {**guide_pictures.PICTURES, **guide_pictures.DRAWN, **guide_pictures.LIVE_PICTURES, **guide_pictures.SNIPPETS}


class DryMaker(Maker):
    """Runs no command: it makes empty files where a command would write."""

    def tautline(self, *words, **_):
        for word in map(str, words):
            if re.fullmatch(r"[^/]+[.](html|npy|h5|csv|fil|dada|uvh5)", word):
                (self.folder / word).touch()
        self.commands.append(words[0])
        return ""


class GuidePictures(unittest.TestCase):
    command = None

    def test_the_docs_name_those_that_are_made(self):
        named = set()
        for page in [guide_pictures.ROOT / "README.md", *(guide_pictures.ROOT / "docs").rglob("*.md")]:
            for link in re.findall(r"\]\(([^)]*[.]png)\)", page.read_text()):
                picture = (page.parent / link).resolve()
                self.assertTrue(picture.exists(), f"{page}: {link}")
                self.assertEqual(picture.parent, FIGURES.resolve())
                named.add(picture.name)
        self.assertEqual(sorted(named), sorted(MADE))
        self.assertEqual(sorted(named), sorted(one.name for one in FIGURES.iterdir()))
        for name, page in guide_pictures.SNIPPETS.items():
            text = (guide_pictures.ROOT / "docs/guide" / page).read_text()
            self.assertIn(f"figures/{name}", text)
            self.assertIn("savefig(", text)

    def test_pages_and_figures_have_commands(self):
        """Some commands are those of the guide's pages, which must be found there."""
        makers = {name: make for name, (make, *_) in guide_pictures.PICTURES.items()}
        for name, make in {**makers, **guide_pictures.DRAWN}.items():
            with tempfile.TemporaryDirectory(prefix="tautline-pictures-") as folder, self.subTest(name):
                maker = DryMaker(None, pathlib.Path(folder), seed=1)
                maker.commands = []
                self.assertTrue(make(maker))
                self.assertIn("simulate", maker.commands)

    def test_one_is_made(self):
        program = browser.find()
        if program is None:
            self.skipTest(browser.ABSENT)
        name = "plot-page.png"
        with tempfile.TemporaryDirectory(prefix="tautline-pictures-") as folder:
            subprocess.run([sys.executable, guide_pictures.__file__, "--command", self.command, "--output", folder,
                            "--only", name], check=True)
            made, kept = (pathlib.Path(folder) / name).read_bytes(), (FIGURES / name).read_bytes()
        self.assertTrue(made.startswith(b"\x89PNG"))
        self.assertEqual(struct.unpack(">II", made[16:24]), struct.unpack(">II", kept[16:24]), "width and height")
        self.assertEqual(struct.unpack(">I", made[16:20])[0], 2560)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", required=True, type=pathlib.Path)
    GuidePictures.command = parser.parse_args().command.resolve()
    return 0 if unittest.main(argv=sys.argv[:1], exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
