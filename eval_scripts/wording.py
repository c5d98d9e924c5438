"""Print everything that models are told in a benchmark, as one TOML file, for a copy of your own.

    python eval_scripts/wording.py tulving > mine.toml
    python eval_scripts/wording.py booksort
    python eval_scripts/wording.py memfail

Change what you like, leave out what stays as it is, and give the file to `--wording` of the benchmark's scripts. There,
`--wording published:FOLDER` takes the words of the paper from a copy of its code that you have, a checkout or a zip file.

tulving has the sections [reader], [judge], [writer] (of chapters, and who checks them) and [questions]; booksort has [reader];
memfail has [reader], [judge] and [generation] (of rows). Comments say which placeholders a text may have, and what may be
there besides: replies of another form, and how many are asked about at once. What is wrong is said with file, section and key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.errors import BadInput


@dataclass(frozen=True, kw_only=True)
class Arguments:
    benchmark: str = argument("tulving, booksort or memfail", positional=True, default="", metavar="BENCHMARK")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)

    from epbench.booksort.context.prompts import WORDS as BOOKSORT
    from epbench.files.prompt_packs import own_wording
    from epbench.memfail.wording import WORDS as MEMFAIL
    from epbench.tulving.wording import WORDS as TULVING

    words = {"tulving": TULVING, "booksort": BOOKSORT, "memfail": MEMFAIL}
    if args.benchmark not in words:
        raise BadInput(f"expected one of {', '.join(words)}, got {args.benchmark!r}")
    print(own_wording(words[args.benchmark]), end="")


if __name__ == "__main__":
    command.run(main)
