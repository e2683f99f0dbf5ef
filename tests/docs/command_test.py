"""`tautline docs` finds the site where it is installed, and says what to do where it is not."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import tempfile

PAGE = "<!doctype html><title>tautline</title>"


def run(command, *words, **environment):
    return subprocess.run([command, *words], capture_output=True, text=True, env={**os.environ, **environment})


def place(folder, where, command):
    """A command as it is installed, and a site at `where`."""
    installed = folder / "bin" / "tautline"
    installed.parent.mkdir(parents=True)
    shutil.copy(command, installed)
    if where is not None:
        page = folder / where / "index.html"
        page.parent.mkdir(parents=True)
        page.write_text(PAGE)
    return installed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", type=pathlib.Path, required=True)
    command = parser.parse_args().command
    with tempfile.TemporaryDirectory(prefix="tautline-docs-") as name:
        folder = pathlib.Path(name).resolve()
        for number, where in enumerate(["share/doc/tautline/html", "docs/html", "bin/docs/html"]):
            installed = place(folder / str(number), where, command)
            done = run(installed, "docs")
            page = folder / str(number) / where / "index.html"
            assert (done.returncode, done.stdout) == (0, f"{page}\n"), (where, done)
            done = run(installed, "--json", "docs")
            said = json.loads(done.stdout)
            assert said["schema"] == "tautline.docs" and said["page"] == str(page) and said["opened"] is False, done

        browser = folder / "browser"
        browser.write_text(f'#!/bin/sh\necho noise\ncp "$1" {folder}/opened.html\n')
        browser.chmod(0o755)
        done = run(installed, "docs", "--open", BROWSER=str(browser))
        assert (done.returncode, done.stdout) == (0, f"{page}\n"), done
        assert (folder / "opened.html").read_text() == PAGE
        for broken in ("/bin/false", str(folder / "absent")):
            done = run(installed, "docs", "--open", BROWSER=broken)
            assert done.returncode == 1 and done.stdout == f"{page}\n" and "BROWSER" in done.stderr, done

        bare = place(folder / "bare", None, command)
        done = run(bare, "docs")
        assert done.returncode == 1 and done.stdout == "" and done.stderr.count("\n") == 1, done
        assert "scripts/docs" in done.stderr, done
    print("tautline docs: found in three places, opened, and refused where there is none")


main()
