"""Ask people instead of a model, or have them check a judge: make a page that runs offline, and read what comes back.

    python eval_scripts/people.py --dataset epbench/booksort --config e1000_s20 --n 400 --per-person 20 --out study
    python eval_scripts/people.py --dataset epbench/booksort --config e20000_s50 --book 69087 --texts my.toml --within-days 30 --out study
    python eval_scripts/people.py --dataset epbench/short --n 30 --out study
    python eval_scripts/people.py --label runs/short --n 50 --out labels
    python eval_scripts/people.py --returned answers-1.jsonl answers-2.jsonl --out study
    python eval_scripts/people.py --published trials.csv --out published

OUT gets page.html, one file that needs no network and sends nothing, and study.json, the key, which stays with you. A person
agrees, reads, answers, and downloads a file to give back; a page that was closed goes on where it was. Book-SORT is asked after
each excerpt, or with --book about a book that people read elsewhere; a Tulving book is read whole. The page does not hold
what is right. --texts changes its words: the consent, and attention checks, such as questions about the plot.

--returned reads the files of all people: people.json says who is included (enough checks right, all answered, and with
--within-days not too long since the book). The answers are then scored like those of a model, by --answers of
eval_scripts/booksort.py and eval_scripts/tulving.py, and tables and leaderboards say that people answered.

--label has people decide what the judge of a run decided, without seeing its verdicts. --returned then puts into the passport
of the judge how far they agree, with Cohen's kappa; reports show it from then on.

--published reads trials of people from a CSV file (participant, segment_length, distance, correct). It writes accuracies by
distance with binomial tests, and a row for eval_scripts/tables.py --reported.
"""  # noqa: E501

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from epbench import command
from epbench.arguments.declaring import argument, parse
from epbench.errors import BadInput

if TYPE_CHECKING:
    from epbench.people import Item, Part, Session, Study


@dataclass(frozen=True, kw_only=True)
class Arguments:
    dataset: str | None = argument("what is asked: a Book-SORT dataset or a Tulving book", either=True)
    label: Path | None = argument("a run whose judge is checked", metavar="RUN", either=True)
    returned: list[Path] | None = argument("files that people sent back", metavar="FILE", either=True)
    published: Path | None = argument("trials that people made elsewhere", metavar="CSV", either=True)
    out: Path = argument("the folder of the study")
    config: list[str] = argument("of Book-SORT (e250_s20)", default=["e250_s20"], group="what is asked")
    book: int | None = argument("of Book-SORT: the book that people read elsewhere", metavar="BOOK_IDX")
    n: int = argument("questions of the study, or answers to label (40)", default=40)
    per_person: int | None = argument("most questions for one person (all; with --book 10)", metavar="N")
    texts: Path | None = argument("texts of the page, like src/epbench/people/data/people.toml", metavar="TOML")
    seed: int = argument("seed of the answers to label (0)", default=0)
    pass_share: float = argument("least share of the checks right (0.75)", default=0.75, group="who is included")
    within_days: int | None = argument("most days since the end of the book of --book", metavar="DAYS")

    def __post_init__(self) -> None:
        if self.n < 1 or (self.per_person is not None and self.per_person < 1) or not 0 <= self.pass_share <= 1:
            raise BadInput("expected --n and --per-person from 1 on, and --pass-share from 0 to 1; see --help")
        if self.within_days is not None and self.book is None:
            raise BadInput("--within-days is about a book that was read elsewhere; give --book with it")


def main(argv: Sequence[str] | None = None) -> None:
    args = parse(Arguments, __doc__, argv)
    if args.returned:
        _read(args.out, args.returned)
    elif args.published:
        _published(args.published, args.out)
    else:
        _make(args)


def _make(args: Arguments) -> None:
    """Write the page and the key."""
    from epbench.people import PAGE, read_texts, write_study

    texts = read_texts(args.texts)
    kind, parts, about = _labels(args, args.label, texts) if args.label else _questions(args, str(args.dataset))
    n_items = sum(len(group) for part in parts for group in part.groups)
    most = args.per_person or (10 if kind == "book" else n_items)
    rule = {"per_person": most, "within_days": args.within_days, "pass_share": args.pass_share}
    write_study(args.out, texts, parts, kind=kind, about=about, **rule)
    command.console().say(f"page for people: {args.out / PAGE} ({n_items:,} questions, at most {most:,} for each)")


def _questions(args: Arguments, dataset: str) -> tuple[str, list[Part], dict[str, Any]]:
    """The kind of the study, the questions of a dataset with what is read before them, and what it is about."""
    from epbench.booksort.dataset.load import config_names, excerpt_of, fingerprint, group_of, load_pairs, of_books
    from epbench.hub.rows import subset
    from epbench.people import Item, Part
    from epbench.tulving.dataset.load import load_book

    about: dict[str, Any] = {"dataset": dataset}
    try:
        config_names(dataset)
    except BadInput:  # it is a book
        data = load_book(dataset)
        rows = subset(data.rows, itemgetter("id"), args.n)
        asked = [[Item(row["id"], row["id"], row["question"])] for row in rows]
        return "tulving", [Part(data.book.title, data.book.text, asked)], about | data.identity | {"limit": args.n}
    everything, parts = load_pairs(dataset, args.config), dict[str, Part]()
    for pair in subset(of_books(everything, [args.book] if args.book is not None else None), group_of, args.n):
        text = excerpt_of(pair) if args.book is None else None
        part = parts.setdefault(group_of(pair) if text else "", Part(pair.title, text, []))
        ask, choices = f"Which of these comes first in {pair.title}?", list(zip("AB", pair.shown, strict=True))
        part.groups.append([Item(pair.id, pair.id, ask, choices=choices, shuffled=True)])
    about |= {"config": args.config, "fingerprint": fingerprint(everything)}
    return "book" if args.book is not None else "sort", list(parts.values()), about


def _labels(args: Arguments, run: Path, texts: Mapping[str, Any]) -> tuple[str, list[Part], dict[str, Any]]:
    """Likewise a sample of what the judge of a run decided."""
    from epbench.draws import RandomStream
    from epbench.files.json_files import read_json
    from epbench.memories.session import MEMORIES
    from epbench.people import Part
    from epbench.runs.benchmark import read_records
    from epbench.runs.folder import read_run

    described = read_run(run)
    benchmark, judge = described["identity"].get("benchmark"), described.get("judge")
    rows = read_records(run, ("outcome", "answer"))
    if benchmark not in _ITEMS or judge is None or not rows:
        raise BadInput(f"{run}: expected a finished run on a Tulving book or MemFail, with a judge")
    judged = [row for row in rows if row["outcome"] != "failed" and row["answer"] is not None]
    stores = read_json(run / MEMORIES) if (run / MEMORIES).is_file() else {}
    drawn = RandomStream("people", args.seed).sample(judged, args.n)
    about = {"benchmark": benchmark, "run": run.name, "judge": judge, "seed": args.seed}
    return "labels", [Part("", None, [_ITEMS[benchmark](row, texts["labels"], stores) for row in drawn])], about


def _of_tulving(row: dict[str, Any], words: Mapping[str, Any], stores: object) -> list[Item]:
    """For each true item, whether the answer gives it; where nothing is true, whether it names nothing."""
    from epbench.people import Item

    id_, shown = f"{row['id']}/{row['repeat']}", [("Question", row["question"]), ("Answer", row["answer"])]
    true = dict(reversed(list(zip(row["reference"], row["scores"], strict=True))))  # of repeats, the first score counts
    found = {words["item"].format(item=item): score >= 0.5 for item, score in true.items()}
    asked = enumerate((found or {words["nothing"]: not row["items"]}).items())
    choice = {True: "yes", False: "no"}
    return [Item(id_, f"{id_}/{n}", ask, shown, words["yes_no"], choice[is_so], "items") for n, (ask, is_so) in asked]


def _of_memfail(row: dict[str, Any], words: Mapping[str, Any], stores: Mapping[str, list[str]]) -> list[Item]:
    """Whether the answer is right, and at which stage the question failed first."""
    from epbench.people import Item

    id_, needed = f"{row['id']}/{row['k']}", "\n".join(need["told"] for need in row["needs"])
    shown = [("Question", row["question"]), ("Right answer", row["reference"]), ("Answer", row["answer"])]
    common, store = set(needed.lower().split()), stores.get(row["row"], stores.get("", []))
    near = sorted(store, key=lambda memory: -len(common & set(memory.lower().split())))[:30]
    facts = [*shown, ("Needed, as it was told", needed), ("What came back", "\n".join(row["retrieved"]))]
    facts.append((f"In the store ({len(near)} of {len(store)} memories, the nearest by their words)", "\n".join(near)))
    stages = [*words["stages"], *(words["revised"] if row["config"] == "revision" else ())]
    stage = Item(id_, f"{id_}/stage", words["stage"], facts, stages, row["label"], "stages")
    if row["answer_right"] is None:
        return [stage]
    right = "yes" if row["answer_right"] else "no"
    return [Item(id_, f"{id_}/answer", words["answer"], shown, words["yes_no"], right, "answers"), stage]


_ITEMS = {"tulving": _of_tulving, "memfail": _of_memfail}


def _read(out: Path, files: Sequence[Path]) -> None:
    """Read what people sent back: answers to be scored, or labels that a judge is compared with."""
    from epbench.files.json_files import read_typed
    from epbench.people import KEY, Study, read_returned, write_answers

    console, study = command.console(), read_typed(out / KEY, Study)
    sessions, about = read_returned(study, files), study.about
    console.say(f"included: {sum(not of.why_not for of in sessions)} of {len(sessions)} people")
    console.say_all(f"left out: {of.file}: {of.why_not}" for of in sessions if of.why_not)
    for path in write_answers(out, study, sessions):
        more = f"--limit {about['limit']}" if study.kind == "tulving" else f"--config {' '.join(about['config'])}"
        what = f"{'tulving' if study.kind == 'tulving' else 'booksort'} --dataset {about['dataset']} {more}"
        console.say(f"to score them: epbench eval {what} --answers {path} --out runs/{out.name}-{path.stem}")
    if study.kind == "labels":
        _into_passport(out, study, sessions)


def _into_passport(out: Path, study: Study, sessions: Sequence[Session]) -> None:
    """Put into the passport of a judge how far people agree with it."""
    from epbench.files.json_files import write_json
    from epbench.judges.protocol import PEOPLE, noted_judge, people_line
    from epbench.people import compare_labels

    judge, found = noted_judge(study.about["judge"]), compare_labels(study, sessions)
    if not found:
        raise BadInput(f"{out}: expected labels of a person who is included, found none")
    passports = import_module(f"epbench.{study.about['benchmark']}.calibration.passport")
    write_json(out / "agreement.json", {"judge": str(judge), PEOPLE: found})
    if (passport := passports.find_passport(judge)) is None:
        raise BadInput(f"{judge} has no passport; make one with epbench judge-check, then give this command again")
    write_json(path := passports.passport_path(judge), {**passport, PEOPLE: found})
    command.console().say(f"judge {judge.name}: {people_line({PEOPLE: found})}; in its passport, {path}")


def _published(path: Path, out: Path) -> None:
    """Write the paper's Figure 2 from published trials, and a row of reported numbers."""
    from epbench.booksort.leaderboard import reported_of
    from epbench.booksort.paper.inputs import Inputs, people_of
    from epbench.booksort.paper.results import DECLARED
    from epbench.files.json_files import write_json
    from epbench.reports.exhibit import write_exhibits

    run = people_of(path)
    made = [one.make(Inputs([run])) for one in DECLARED if one.name == "Figure 2"]
    command.console().print(write_exhibits(out, f"What people remember: {path.name}", made, []))
    write_json(out / "reported.json", reported_of(run))
    command.console().say(f"row for epbench tables --reported: {out / 'reported.json'}")


if __name__ == "__main__":
    command.run(main)
