"""Prose of the documentation wraps at 120 columns; tables, lines of code, pictures and generated pages do not."""

import argparse
import pathlib
import re

COLUMNS = 120
GENERATED = {"docs/guide/options.md"}


def long_lines(text):
    """[(number, line)] of prose that could be broken and is too long."""
    found, fence, code, blank = [], "", False, True
    for number, line in enumerate(text.split("\n"), 1):
        mark = re.match(r"\s*(```+|~~~+)", line)
        if mark and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        indented = re.match(r" {4}", line) is not None
        code = indented and (blank or code)
        blank = not line.strip()
        words = re.sub(r"`[^`]*`|!?\[[^\]]*\]\([^)]*\)", lambda part: part[0].replace(" ", "_"), line).split()
        if len(line) > COLUMNS and not fence and not code and not line.startswith("|") and len(words) > 1:
            found.append((number, line))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    root = parser.parse_args().source
    long = "word " * 25
    assert len(long_lines(f"short\n{long}\n\n- item {long}")) == 2
    assert not long_lines(f"| {long} |\n```sh\n{long}\n```\n\n    {long}\n    {long}\n\n![{long}](a.png)")
    pages = [path for path in (*root.glob("*.md"), *(root / "docs").rglob("*.md"))]
    assert len(pages) > 60, len(pages)
    problems = []
    for page in sorted(pages):
        name = page.relative_to(root).as_posix()
        if name not in GENERATED:
            problems += [f"{name}:{at}: {line}" for at, line in long_lines(page.read_text(encoding="utf-8"))]
    for problem in problems:
        print(problem)
    if problems:
        raise SystemExit(f"{len(problems)} lines of more than {COLUMNS} columns")
    print(f"{len(pages)} pages")


main()
