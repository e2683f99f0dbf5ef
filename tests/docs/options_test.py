"""Commands that the documentation shows have options that the command has (docs/guide/options.md, which is made by it)."""

import argparse
import pathlib
import re

OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
GLOBAL = {"--version", "--help", "-h"}


def options_of(page):
    """{command: its options}, '' for those before the command."""
    found = {}
    for heading, text in re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", page, re.M | re.S):
        command = "" if heading == "Before the command" else heading
        found[command] = {
            one for row in re.findall(r"^\| (`-.*?) \|", text, re.M) for one in re.findall(r"`(-[\w-]+)`", row)
        }
    return found


def commands_in(text):
    """Lines of code and code spans that begin with the command, without what their output goes to."""
    for line in re.findall(r"(?:^    |^|`|\| )tautline ([^`\n]*)", text, re.M):
        line = re.sub(r"\$\([^)]*\)", "", line)
        yield re.split(r"\s#|;|&&|\|\s|, then|\.\.\.,", line)[0]


def check(line, known):
    """What is wrong with a command's words."""
    words = line.replace("\\|", "|").split()
    first = next((at for at, word in enumerate(words) if word in known or " ".join(words[at : at + 2]) in known), None)
    if first is None:
        return ""
    two = " ".join(words[first : first + 2])
    command = two if two in known else words[first]
    rest = words[first + (2 if two in known else 1) :]
    allowed = known[command] | known[""] | GLOBAL
    unknown = [one for one in OPTION.findall(" ".join(rest)) if one not in allowed and not one.startswith("-1")]
    early = [one for one in OPTION.findall(" ".join(words[:first])) if one not in known[""] | GLOBAL]
    return ", ".join(unknown + early)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=pathlib.Path, required=True)
    root = parser.parse_args().source
    known = options_of((root / "docs/guide/options.md").read_text(encoding="utf-8"))
    assert len(known) > 15 and "--dms" in known["search"] and "--device" in known[""], known.keys()
    assert check("search x.fil --dmss 0:1", known) == "--dmss" and check("--dms 1 search x.fil", known) == "--dms"
    problems, lines = [], 0
    for page in [root / "README.md", *sorted((root / "docs").rglob("*.md"))]:
        text = page.read_text(encoding="utf-8")
        for line in commands_in(text):
            lines += 1
            wrong = check(line, known)
            if wrong:
                problems.append(f"{page.relative_to(root)}: tautline {line}: {wrong}")
        if page.parent.name in ("coming-from", "start"):
            # Our column is the last one.
            every = set().union(*known.values()) | GLOBAL
            for row in re.findall(r"^\| .*\| (.*) \|$", text, re.M):
                for span in re.findall(r"`(--[^`]*)`", row):
                    unknown = [one for one in OPTION.findall(span) if one not in every]
                    problems += [f"{page.relative_to(root)}: {span}: {one}" for one in unknown]
    for problem in problems:
        print(problem)
    assert lines > 150, lines
    if problems:
        raise SystemExit(f"{len(problems)} options that the command does not have")
    print(f"{lines} commands")


main()
