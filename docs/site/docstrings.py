"""The package's docstrings, which say the fields of a run as `name [unit]` behind a sentence, in the form that Sphinx takes."""

import re

SENTENCE = re.compile(r"\n((?:[^\n]+\n)?[^\n]*\ball optional[^\n]*:)\n\n")
# Behind a section's entries, which are not indented either.
PARAGRAPH = re.compile(r"(?<=\n\n)(?=[A-Z][^\n]* [^\n]*\n(?!---))")
FIELD = re.compile(r"^(\w+) \[([^\]]+)\]$", re.M)


def process(app, what, name, thing, options, lines):
    text = "\n".join(lines)
    found = SENTENCE.search(text)
    if found:
        said = found[1].replace("\n", " ").rstrip(":") + "."
        text = text[: found.start()] + f"\n\nNotes\n-----\n{said}\n\nFields\n------\n" + text[found.end() :]
    head, underline, rest = text.partition("\n---")
    text = head + underline + PARAGRAPH.sub("Notes\n-----\n", rest)
    lines[:] = FIELD.sub(r"\1 : \2", text).split("\n")


def setup(app):
    # Before napoleon, whose priority is 500.
    app.connect("autodoc-process-docstring", process, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
