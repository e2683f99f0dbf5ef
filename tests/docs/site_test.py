"""scripts/docs builds the site without a warning, notebooks executed; its pages need nothing from outside, its search finds
words without a server, and they hold together on narrow and wide screens."""

import argparse
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pages"))

import browser  # noqa: E402

# Of elements, the attributes whose targets are fetched with a page.
FETCHED = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
}
# Pages that a reader begins with or lands on: each is looked at.
LOOKED_AT = ("index", "start/interferometry", "guide/search", "guide/options", "api/python", "api/cpp/stages", "api/cpp/pipeline", "coming-from/presto",
             "notebooks/fringes", "gallery", "glossary")  # fmt: skip


def skip(why):
    print(why)
    sys.exit(77)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.fetched, self.links, self.names = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.names.update(filter(None, (attributes.get("id"), attributes.get("name"))))
        target = attributes.get(FETCHED.get(tag, ""))
        if target and not (tag == "link" and attributes.get("rel") in ("next", "prev", "canonical")):
            self.fetched.append(target)
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])


def check_files(site, problems):
    """Nothing is fetched from elsewhere, and every link within the site has its target."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        where = path.relative_to(site)
        for target in page.fetched:
            if re.match(r"(https?:)?//", target):
                problems.append(f"{where} fetches {target}")
        for link in page.links:
            if re.match(r"[a-z]+:", link):
                continue
            file, _, anchor = urllib.parse.unquote(link).partition("#")
            to = path if not file else (path.parent / file.partition("?")[0]).resolve()
            if not to.exists():
                problems.append(f"{where} links to {link}, which is not there")
            elif anchor and to in pages and anchor not in pages[to].names:
                problems.append(f"{where} links to {link}, which has no such place")
    for path in site.rglob("*.css"):
        for target in re.findall(
            r"(?:url\(|@import\s+)[\"']?(https?:[^\"')]+|//[^\"')]+)", path.read_text(encoding="utf-8")
        ):
            problems.append(f"{path.relative_to(site)} fetches {target}")
    return pages


def check_pages(source, site, problems):
    for markdown in sorted((source / "docs").rglob("*.md")):
        page = site / markdown.relative_to(source / "docs").with_suffix(".html")
        if not page.exists():
            problems.append(f"{markdown.relative_to(source)} is not on the site")
    python = (site / "api/python.html").read_text(encoding="utf-8")
    for name in ("tautline.correlate", "tautline.search", "tautline.detect", "tautline.Node", "tautline.plot.fringes", "integration_s", "standard_error"):
        if name not in python:
            problems.append(f"api/python.html does not have {name}")
    stages = (site / "api/cpp/stages.html").read_text(encoding="utf-8")
    for name in ("stages/correlate/correlate.h", "overwritten"):
        if name not in stages:
            problems.append(f"api/cpp/stages.html does not have {name}")


def check_headers(source, site, problems):
    """Every public header's declarations are on the page of its layer."""
    listed = (source / "cmake/public_headers.txt").read_text(encoding="utf-8").splitlines()
    names = [line for line in listed if "/" in line and not line.startswith("#")]
    for layer in sorted({name.partition("/")[0] for name in names}):
        text = (site / f"api/cpp/{layer}.html").read_text(encoding="utf-8")
        sections = dict(re.findall(r"<h2>([\w/]+\.h)<(.*?)(?=<h2>|</article>)", text, flags=re.S))
        for name in names:
            if name.startswith(layer + "/") and "sig sig-object cpp" not in sections.get(name, ""):
                problems.append(f"api/cpp/{layer}.html does not have the declarations of {name}")


def check_notebooks(site, problems):
    for name, figures in (("fringes", 3), ("burst", 5), ("diffusion", 2), ("tuning", 1), ("node", 0)):
        text = (site / f"notebooks/{name}.html").read_text(encoding="utf-8")
        if text.count('alt="../_images/') < figures:
            problems.append(f"notebooks/{name}.html has fewer than {figures} figures")
        if "Traceback" in text:
            problems.append(f"notebooks/{name}.html has an error")


def check_in_browser(site, problems):
    program = browser.find()
    if program is None:
        print("not looked at in a browser: there is no Chromium")
        return
    with browser.Browser(program) as one:
        for name in LOOKED_AT:
            for width in (400, 1280):
                one.look(width)
                one.open(site / f"{name}.html")
                problems += [f"{name} at {width}: {said}" for said in one.complaints()]
                wide = one.run("document.documentElement.scrollWidth")
                if wide > width:
                    problems.append(f"{name} at {width} is {wide} wide")
        # Without a server: the page that the search field leads to.
        one.open(site / "search.html")
        one.run(
            "document.querySelector('input[name=q]').value = 'dedispersion'; document.querySelector('form').submit()"
        )
        until, found = time.monotonic() + 30, 0
        while found < 3 and time.monotonic() < until:  # they come one after the other
            time.sleep(0.2)
            found = one.run("document.querySelectorAll('#search-results ul.search li').length") or 0
        if found < 3:
            problems.append(f"the search for dedispersion found {found} pages")
        print(f"search: {found} pages about dedispersion")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--need", choices=("required", "optional"), required=True)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    options = parser.parse_args()
    if options.need == "optional" and not (options.source / ".venv-docs" / "made-of").exists():
        skip("the packages that build the site are absent (.venv-docs); scripts/interop installs them")
    site = options.build / "docs" / "html"
    done = subprocess.run(
        [options.source / "scripts" / "docs", "--build", options.build, "--output", site],
        capture_output=True,
        text=True,
    )
    print(done.stdout, done.stderr)
    if done.returncode != 0:
        sys.exit("scripts/docs failed")
    problems = []
    pages = check_files(site, problems)
    check_pages(options.source, site, problems)
    if shutil.which("doxygen"):
        check_headers(options.source, site, problems)
    check_notebooks(site, problems)
    check_in_browser(site, problems)
    for problem in problems:
        print(problem)
    if problems:
        sys.exit(f"{len(problems)} problems")
    print(f"{len(pages)} pages")


main()
