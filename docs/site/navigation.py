"""What the site needs beside the pages as they stand: the navigation, which is made from the tables of the index pages, and
the texts that lie outside docs/."""

import pathlib
import posixpath
import re

from sphinx import addnodes

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Of the tree's root -> the page that shows them.
OUTSIDE = {"CONTRIBUTING.md": "contributing", "CHANGELOG.md": "changelog"}
# Pages that other pages are under: those that the rows of their tables, or their lists, begin with.
INDEX_PAGES = ("performance/README", "performance/notebook", "coming-from/README", "notebooks/README", "api/README")

# Sections of docs/README.md that come last in the navigation.
LAST = ("Everybody", "Developers")

LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FIRST_COLUMN = re.compile(r"^(?:\| |- )\[[^\]]*\]\(([^)#\s]+\.(?:md|rst))\)", re.M)


def place(link, page_folder):
    """Of a link on a page: its target from the tree's root, or None of what is elsewhere."""
    if re.match(r"[a-z]+:|#", link):
        return None
    return posixpath.normpath(posixpath.join(page_folder, link.partition("#")[0]))


def document(target, folder="docs"):
    """The name of a document, relative to `folder`."""
    page = OUTSIDE.get(target)
    path = f"docs/{page}" if page else re.sub(r"\.(md|rst)$", "", target)
    return posixpath.relpath(path, folder)


def tree(text, page_folder, caption=None, folder="docs"):
    """A table of contents of the pages that a text's tables link to."""
    entries = [document(place(link, page_folder), folder) for link in FIRST_COLUMN.findall(text)]
    if not entries:
        return ""
    options = ["hidden"] if caption is None else ["hidden", f"caption: {caption}"]
    return (
        "\n```{toctree}\n"
        + "".join(f":{o}:\n" if ":" not in o else f":{o}\n" for o in options)
        + "\n"
        + "\n".join(entries)
        + "\n```\n"
    )


def sections(text):
    """{heading: text} of a page's second level."""
    parts = re.split(r"^## (.*)$", text, flags=re.M)
    return dict(zip(parts[1::2], parts[2::2]))


def relink(text, page_folder, page):
    """Links of a text that lay in `page_folder`, for a page of docs/; to the texts of the root by their pages."""

    def changed(match):
        target = place(match[0], page_folder)
        if target is None:
            return match[0]
        anchor = match[0][len(match[0].partition("#")[0]) :]
        here = posixpath.dirname(f"docs/{page}")
        if target in OUTSIDE:
            target = f"docs/{OUTSIDE[target]}.md"
        return posixpath.relpath(target, here) + anchor

    return LINK.sub(changed, text)


def source_read(app, page, source):
    folder = posixpath.dirname(f"docs/{page}")
    for name, shown in OUTSIDE.items():
        if page == shown:
            source[0] = relink((ROOT / name).read_text(encoding="utf-8"), "", page)
            return
    if page.startswith("api/") and page != "api/README":
        return
    if any(name in source[0] for name in OUTSIDE):
        source[0] = relink(source[0], folder, page)
    if page in INDEX_PAGES:
        source[0] += tree(source[0], folder, folder=folder)
    if page == app.config.root_doc:
        everything = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
        source[0] += "\n```{toctree}\n:hidden:\n\nAll pages <README>\n```\n"
        # What is for everybody after what is for one kind of reader.
        captions = sorted(sections(everything).items(), key=lambda item: LAST.index(item[0]) if item[0] in LAST else -1)
        for caption, text in captions:
            source[0] += tree(text, "docs", caption=caption)


def titles_alone(contents):
    """Of a page's contents, its title and the pages below it."""
    contents = contents.deepcopy()
    for entry in contents:
        if len(entry) > 1:
            entry[1][:] = list(entry.findall(addnodes.toctree))
            if not len(entry[1]):
                entry.pop(1)
    return contents


def updated(app, env):
    app.titles = {page: titles_alone(contents) for page, contents in env.tocs.items()}


def page_context(app, page, template, context, doctree):
    """The navigation has titles alone: headings are left out before they are copied for every page, not after."""
    whole = context.get("toctree")
    if whole is None:
        return

    def toctree(**options):
        contents, app.env.tocs = app.env.tocs, app.titles
        try:
            return whole(**options)
        finally:
            app.env.tocs = contents

    context["toctree"] = toctree


def setup(app):
    app.connect("source-read", source_read)
    app.connect("env-updated", updated)
    app.connect("html-page-context", page_context, priority=100)  # before the theme's
    return {"parallel_read_safe": True, "parallel_write_safe": True}
