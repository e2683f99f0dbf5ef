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
    checks.that(0 < error < 0.01 and abs(real - true) < 6 * error + 0.01 * true and abs(imaginary) < 6 * error,
                f"coefficient {real} {imaginary} +- {error} where {true:.4f} was simulated")


def run_snippet(block, folder, checks, before=""):
    """What a snippet prints."""
    done = subprocess.run([sys.executable, "-c", before + block], cwd=folder, capture_output=True, text=True)
    checks.that(done.returncode == 0, done.stderr)
    return done.stdout


def formats(source, command, folder, checks):
    """How pyuvdata and casacore read what is written; behind the page of interferometry, whose voltages it takes."""
    checks.where = "formats.md"
    uvh5, sets = blocks_of((source / "docs/guide/formats.md").read_text(), "python")
    for name in ("V.uvh5", "V.ms"):
        words = ["correlate", "night.dada", "--array", "array.toml", "--duration", "1s", "--channels", "16", "-o", name]
        done = subprocess.run([command, *words], cwd=folder, capture_output=True, text=True)
        if name == "V.ms" and done.returncode != 0 and "casacore" in done.stderr:
            print(f"not run: formats.md's snippet of Measurement Sets: {done.stderr}")
            sets = ""
            continue
        checks.that(done.returncode == 0, done.stderr)
    run_snippet(uvh5, folder, checks, "from math import radians\nra_rad, dec_rad = radians(170), radians(-20)\n")
    if sets:
        printed = run_snippet(sets + "print(main.getcol('DATA').shape)", folder, checks)
        checks.that(", 16, 1)" in printed, f"DATA of {printed!r}")


def first_steps(source, data, command, folder, checks):
    """The real fringes of the page, and its table of them."""
    checks.where = "first-steps.md"
    if not (data / "tart").exists():
        print(f"not run: first-steps.md's snippet: the snapshots are not in {data / 'tart'}")
        return
    text = (source / "docs/guide/first-steps.md").read_text()
    (folder / "tart").symlink_to((data / "tart").resolve())
    (line,) = re.findall(r"^tautline (correlate tart/.*)$", text, re.MULTILINE)
    done = subprocess.run(f"{command} {line}", cwd=folder, shell=True, capture_output=True, text=True)
    checks.that(done.returncode == 0, done.stderr)
    (block,) = blocks_of(text, "python")
    printed = run_snippet(block, folder, checks)
    stated = re.findall(r"^\| \d\d:\d\d:\d\d \| ([\d.]+), (-?\d+) \| ([\d.]+), (-?\d+) \| ([\d.]+), (-?\d+) \|$", text, re.M)
    numbers = [float(one) for one in re.findall(r"-?\d+\.\d*|-?\d+", printed.replace("\n", " "))]
    checks.that(len(stated) == 8 and len(numbers) == 3 * (2 + 8 + 8), f"printed {printed!r}")
    if len(numbers) != 54:
        return
    for pair in range(3):
        amplitudes, phases = numbers[18 * pair + 2 : 18 * pair + 10], numbers[18 * pair + 10 : 18 * pair + 18]
        for row, amplitude, phase in zip(stated, amplitudes, phases):
            expected, angle = float(row[2 * pair]), float(row[2 * pair + 1])
            checks.near(amplitude, expected, 0.021, "amplitude")
            if expected > 0.05:
                checks.near((phase - angle + 180) % 360 - 180, 0, 11, "phase")


def main():
    options = interop_support.arguments(__doc__, needs_command=True)
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        interop_support.skip("matplotlib is not installed in this environment; scripts/interop installs it")
    checks = interop_support.Checks()
    with interop_support.scratch() as folder:
        interferometry(options.source, options.command.resolve(), pathlib.Path(folder), checks)
        formats(options.source, options.command.resolve(), pathlib.Path(folder), checks)
    with interop_support.scratch() as folder:
        first_steps(options.source, options.data, options.command.resolve(), pathlib.Path(folder), checks)
    with interop_support.scratch() as folder:
        run_page("photons.md", options.source, options.command.resolve(), pathlib.Path(folder), checks)
    checks.finish()


if __name__ == "__main__":
    main()
