"""The Python of the guide's pages runs as it stands behind the page's commands, makes its figure, and measures
what was simulated."""
import os
import pathlib
import re
import subprocess
import sys

import interop_support

interop_support.offline()


def commands_of(text):
    return [line.split()[1:] for line in text.splitlines() if line.startswith("    tautline ")]


def blocks_of(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def prepare(text, command, folder):
    """The files that the page shows and those that its commands make."""
    for block in blocks_of(text, "toml"):
        (folder / block.splitlines()[0].lstrip("# ")).write_text(block)
    for words in commands_of(text):
        done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(words)}\nstatus {done.returncode}\n{done.stdout}{done.stderr}")


def run_page(page, source, command, folder, checks):
    """What the page's Python prints."""
    checks.where = page
    text = (source / "docs/guide" / page).read_text()
    prepare(text, command, folder)
    (block,) = blocks_of(text, "python")
    done = subprocess.run([sys.executable, "-c", block], cwd=folder, capture_output=True, text=True,
                          env={**os.environ, "MPLBACKEND": "Agg"})
    checks.that(done.returncode == 0, done.stderr)
    figure = folder / "figure.pdf"
    checks.that(figure.exists() and figure.stat().st_size > 5000, "no figure.pdf")
    return done.stdout


def interferometry(source, command, folder, checks):
    printed = run_page("interferometry.md", source, command, folder, checks)
    numbers = re.search(r"coefficient (\S+) (\S+) error (\S+)", printed)
    checks.that(numbers is not None, f"no coefficient in {printed!r}")
    if numbers is None:
        return
    real, imaginary, error = map(float, numbers.groups())
    true = 0.2 / 1.2
    checks.that(0 < error < 0.01 and abs(real - true) < 5 * error + 0.01 * true and abs(imaginary) < 5 * error,
                f"coefficient {real} {imaginary} +- {error} where {true:.4f} was simulated")


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        interop_support.skip("matplotlib is not installed in this environment; scripts/interop installs it")
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        interferometry(options.source, options.command.resolve(), pathlib.Path(folder), checks)
    with interop_support.scratch() as folder:
        run_page("photons.md", options.source, options.command.resolve(), pathlib.Path(folder), checks)
    checks.finish()


if __name__ == "__main__":
    main()
