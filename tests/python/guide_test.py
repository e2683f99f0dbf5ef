"""The snippets of docs/guide/python.md run, one after the other, and find what they say; so do those of other pages."""
import contextlib
import io
import pathlib
import re
from typing import Any

import numpy as np
import pytest
import tautline as tl

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_guide(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "guide" / "python.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert len(snippets) >= 5
    names: dict[str, Any] = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for snippet in snippets:
            exec(compile(snippet, "python.md", "exec"), names)  # noqa: S102
    assert "5 times, 64 channels, 10 baselines of 4 inputs" in said.getvalue()
    assert "125.0 kHz" in said.getvalue()
    for pulses in (names["found"], names["pulses"]):
        assert abs(pulses["dm"][0] - 56.7) < 3 and abs(pulses["sample"][0] - 9004) <= 2
    assert "filter.channels 1 2 to 65536" in said.getvalue()
    assert (tmp_path / "fringes.uvh5").exists()


class Bar:
    """What tqdm's has: how much is done, and a function that adds to it."""

    def __init__(self) -> None:
        self.n = self.updates = 0

    def update(self, more: int) -> None:
        assert more >= 0
        self.n += more
        self.updates += 1


def test_the_progress_of_the_guide_moves_a_bar() -> None:
    text = (ROOT / "docs" / "guide" / "python.md").read_text()
    (line,) = re.findall(r"`progress=(lambda [^`]*)`", " ".join(text.split()))
    bar = Bar()
    tl.detect(np.ones((2, 200_000), np.float32), sample_time_s=1e-3, progress=eval(line, {"bar": bar}))  # noqa: S307
    assert bar.n == 200_000 and bar.updates > 1


# Pages whose snippets run here; and what runs those of others, which need other packages or the command.
HERE = ["coming-from/multipletau.md"]
ELSEWHERE = {
    "guide/python.md": "tests/python/guide_test.py",
    "guide/first-steps.md": "tests/interop/guide_test.py",
    "guide/live.md": "tests/interop/spead_out_test.py",
    "guide/observing.md": "tests/interop/restarted_runs_test.py",
    "guide/formats.md": "tests/interop/guide_test.py",
    "guide/interferometry.md": "tests/interop/guide_test.py",
    "guide/photons.md": "tests/interop/guide_test.py",
    "guide/pulses.md": "tests/interop/guide_pulses_test.py",
}


@pytest.mark.parametrize("page", HERE)
def test_snippets_of_other_pages(page: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / page).read_text()
    for snippet in re.findall(r"^```python\n(.*?)^```", text, re.S | re.M):
        exec(compile(snippet, page, "exec"), {})  # noqa: S102


def test_every_snippet_runs_in_a_test() -> None:
    docs = ROOT / "docs"
    snippet = re.compile(r"^\s*(```|~~~)\s*\{?(python|py|pycon)\b", re.M)  # also where no test would find it
    texts = {str(path.relative_to(docs)): path.read_text() for path in docs.rglob("*.md")}
    pages = {page for page, text in texts.items() if snippet.search(text)}
    others = [path for path in (*ROOT.glob("*.md"), *(ROOT / "examples").rglob("*.md"), *(ROOT / "bench").rglob("*.md"))]
    assert not [path for path in others if snippet.search(path.read_text())]
    assert pages == {*HERE, *ELSEWHERE}
    for page, test in ELSEWHERE.items():
        assert page.rsplit("/", 1)[-1] in (ROOT / test).read_text(), (page, test)
    # "python gpu" begins what gpu_test.py runs where there is a GPU.
    assert [page for page, text in texts.items() if re.search("^```python +[^\n]", text, re.M)] == ["guide/python.md"]
    # Indented lines are in no test, unless they are within fences.
    fenced = re.compile(r"^( *)(```+|~~~+)[^\n]*\n.*?^\1\2", re.S | re.M)
    for page, text in texts.items():
        assert not re.search(r"^ {4}[^`\n]*\b(tl\.\w|import tautline)", fenced.sub("", text), re.M), page
