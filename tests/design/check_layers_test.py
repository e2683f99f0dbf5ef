#!/usr/bin/env python3
"""The layer check finds the breaches it is there for, in text as it stands in no file of this tree."""
import importlib.util
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
spec = importlib.util.spec_from_file_location("check_layers", ROOT / "scripts" / "check_layers.py")
check_layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_layers)


def found(folder, header):
    check_layers.problems.clear()
    check_layers.check_user(folder, ROOT / folder / "x.cpp", f'#include "{header}"\n')
    return list(check_layers.problems)


class CheckLayers(unittest.TestCase):
    def test_private_headers_stay_behind_public_ones(self):
        for header in ("tautline/device/cuda/driver.h", "tautline/stages/correlate/cpu/sums.h"):
            for folder in ("cli", "examples", "python/src"):
                self.assertEqual(len(found(folder, header)), 1, (folder, header))
            for folder in ("bench", "tests"):
                self.assertEqual(found(folder, header), [], (folder, header))

    def test_public_headers_are_for_everyone(self):
        for header in ("tautline/device/cuda/cuda_device.h", "tautline/stages/correlate/correlate.h"):
            for folder in ("cli", "bench", "examples", "tests"):
                self.assertEqual(found(folder, header), [], (folder, header))

    def test_texts_of_the_library_name_no_options(self):
        for text, breaches in (('f("--memory")', 1), ('f("raise --memory");', 1), ('f("raise `memory_bytes`")', 0),
                               ("--count; // --memory", 0), ('f("a--b <!--x-->")', 0)):
            check_layers.problems.clear()
            check_layers.check_texts(ROOT / "tautline" / "x.cpp", text)
            self.assertEqual(len(check_layers.problems), breaches, text)

    def test_headers_that_do_not_exist(self):
        for folder in ("cli", "tests"):
            self.assertEqual(len(found(folder, "tautline/core/none.h")), 1)

    def test_a_stage_needs_its_files_and_its_entry(self):
        check_layers.problems.clear()
        check_layers.check_stage(ROOT / "tautline" / "stages" / "none")
        self.assertEqual(len(check_layers.problems), 8)
        for needed in ("reference.cpp", "docs/maths/none.md", "tests/stages/none", "stage_table.cpp"):
            self.assertTrue(any(needed in line for line in check_layers.problems), needed)
        check_layers.problems.clear()
        check_layers.check_stage(ROOT / "tautline" / "stages" / "correlate")
        self.assertEqual(check_layers.problems, [])


if __name__ == "__main__":
    unittest.main()
