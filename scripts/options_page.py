#!/usr/bin/env python3
"""Writes docs/guide/options.md from the command; with --check fails where the page is not what the command says."""
import argparse
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guide" / "options.md"

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--command", default=ROOT / "build" / "tautline", help="the tautline command")
parser.add_argument("--check", action="store_true")
arguments = parser.parse_args()
page = subprocess.run([arguments.command, "options-page"], check=True, capture_output=True, text=True).stdout
if not arguments.check:
    PAGE.write_text(page, encoding="utf-8")
elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page:
    sys.exit(f"{PAGE.relative_to(ROOT)} is not what the command says: run scripts/options_page.py")
