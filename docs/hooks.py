"""What mkdocs does for our site beside its own work: pages from files outside docs/, and links to files of the repository.

The README, the cards of the metrics and a few other files are pages of the site where they stand; nothing is copied. A
relative link works on GitHub and on the site: to a file that is a page it leads to that page, and to any other file to
the repository on the web. A link to a file that does not exist stays as it is, and mkdocs refuses it.
"""

from __future__ import annotations

import os.path
import re
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs.structure.files import File

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
    "security.md": "SECURITY.md",
    "speed.md": "benchmarks/README.md",
    **{
        f"metrics/{card.parent.name}.md": f"metrics/{card.parent.name}/README.md"
        for card in ROOT.glob("metrics/*/README.md")
    },
}
"""The file of the repository for each page that is not in docs/."""
PAGE_OF = {source: page for page, source in OUTSIDE.items()}

_FENCE = re.compile(r"^ *```")
_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?(?=\))")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages from outside docs/."""
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make the relative links of a page lead to a page or file of the site, or to the repository on the web."""
    name = page.file.src_uri
    source = PurePosixPath(OUTSIDE.get(name, f"docs/{name}"))

    def lead(link: re.Match[str]) -> str:
        target = os.path.normpath(source.parent / link[1])
        if not (ROOT / target).exists():
            return link[0]  # mkdocs will complain
        inside = PAGE_OF.get(target, target.removeprefix("docs/") if target.startswith("docs/") else "")
        if inside and files.get_file_from_path(inside):
            return os.path.relpath(inside, PurePosixPath(name).parent) + (link[2] or "")
        kind = "tree" if (ROOT / target).is_dir() else "blob"
        return f"{config.repo_url.rstrip('/')}/{kind}/main/{target}{link[2] or ''}"

    inside_code, lines = False, []
    for line in markdown.split("\n"):
        inside_code ^= bool(_FENCE.match(line))
        lines.append(line if inside_code else _LINK.sub(lead, line))
    return "\n".join(lines)
