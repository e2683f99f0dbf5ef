"""The snippets of docs/guide/python.md run, one after the other, and find what they say."""
import contextlib
import io
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs" / "guide" / "python.md").read_text()
    snippets = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
    assert len(snippets) >= 5
    names = {}
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        for snippet in snippets:
            exec(compile(snippet, "python.md", "exec"), names)  # noqa: S102
    assert "5 times, 64 channels, 10 baselines of 4 inputs" in said.getvalue()
    assert "125.0 kHz" in said.getvalue()
    assert abs(names["found"]["dm"][0] - 56.7) < 3 and abs(names["found"]["sample"][0] - 9004) <= 2
    assert "filter.channels 1 2 to 65536" in said.getvalue()
    assert (tmp_path / "fringes.uvh5").exists()
