"""Long-Hop by a model: chains, an audit of their conflicts, duplicates, wrong options, and truncation to the targets.

Paper: Section 4, task 4, Appendix B.6. Wrong options are the ends of other chains, chosen by the model: the true option
stands in a stored fact by construction, and in two thirds of the released rows it is the only one, which gives it away.
"""

from __future__ import annotations

from collections.abc import Sequence

from epbench.draws import RandomStream
from epbench.memfail.dataset.schema import CHAIN, CHOICES, FACTS, LETTERS, OPTIONS_MARK, Row
from epbench.memfail.dataset.text_statistics import normalised
from epbench.memfail.generation import checks_long_hop as checks
from epbench.memfail.generation.asking import TEXT, TEXTS, Asker, Item, Step, object_of
from epbench.memfail.generation.checks_long_hop import OPTIONS, Chain, OptionsSpec, Window
from epbench.memfail.generation.duplicates import FACT, Duplicates
from epbench.memfail.generation.prompts import GenerationPrompts
from epbench.memfail.generation.specs import HOPS, ChainSpec, batches, chain_specs, option_orders, targets
from epbench.memfail.generation.words import stand_in

BATCH = 8
SUMMARIES = 30  # of the latest chains, which the model is told not to repeat
CANDIDATES = 20  # that the model chooses four wrong options from


def long_hop_rows(asker: Asker, n: int, seed: int) -> list[Row]:
    """Return at most n rows, with 1, 2 and 3 hops as equally often as the surviving chains allow."""
    chains = _written(asker, n)
    chains = _audited(asker, chains)
    chains = _without_duplicates(asker, chains)
    chosen, options = _with_options(asker, chains, n, seed)
    orders = option_orders(len(chosen), seed)
    rows = [_row(i, chain, options[chain.spec.number], orders[i]) for i, chain in enumerate(chosen)]
    for place, fault in checks.options_in_all_facts_or_none(rows):
        raise AssertionError(f"chain {place}: {fault}; all options are ends of stored chains")
    return rows


def chain_step(prompts: GenerationPrompts, known: Sequence[Chain]) -> Step[ChainSpec]:
    """Return the step that writes chains unlike the known ones."""
    lines = [f"  {' -> '.join(chain.anchors)}" for chain in known[-SUMMARIES:]]
    return Step(
        name="chains",
        batch=BATCH,
        prompt=lambda specs: prompts.long_hop_chain.format(specs=specs, known="\n".join(lines) or "  (none yet)"),
        fields={"anchors": TEXTS, "facts": TEXTS, "question": TEXT},
        shown=lambda spec: {"hops": spec.hops, "statements": spec.hops + 1, "anchors": spec.hops + 2},
        counts=(checks.facts_have_their_number, checks.anchors_have_their_number),
        checks=(
            checks.facts_are_short,
            checks.anchors_stand_in_their_facts,
            checks.anchors_stand_nowhere_else,
            checks.facts_stand_alone,
            checks.question_has_first_anchor,
            checks.question_has_no_later_anchor,
        ),
        stand_in=lambda spec: {
            "anchors": [stand_in(f"{spec.label}a{i}", 3) for i in range(spec.hops + 2)],
            "facts": [stand_in(f"{spec.label}f{i}", 12) for i in range(spec.hops + 1)],
            "question": stand_in(spec.label, 14),
        },
    )


def audit_step(prompts: GenerationPrompts) -> Step[Window]:
    """Return the step that finds chains which would spoil one another in one store."""
    return Step(
        name="audits",
        batch=1,
        prompt=lambda specs: prompts.long_hop_audit.format(specs=specs),
        fields={"to_drop": {"type": "array", "items": object_of({"id": TEXT, "reason": TEXT})}},
        shown=lambda window: {"chains": [{"id": chain.label, "facts": [*chain.facts]} for chain in window.chains]},
        counts=(),
        checks=(checks.audit_names_its_chains,),
        stand_in=lambda window: {"to_drop": []},
    )


def options_step(prompts: GenerationPrompts) -> Step[OptionsSpec]:
    """Return the step that chooses the wrong options of one chain."""
    return Step(
        name="options",
        batch=1,
        prompt=lambda specs: prompts.long_hop_options.format(specs=specs),
        fields={"options": TEXTS},
        shown=lambda spec: {
            "facts": [*spec.chain.facts],
            "question": spec.chain.question,
            "answer": spec.chain.anchors[-1],
            "candidates": [*spec.candidates],
        },
        counts=(checks.options_have_their_number,),
        checks=(
            checks.options_are_candidates,
            checks.options_are_wrong,
            checks.options_stand_in_no_fact_of_chain,
        ),
        stand_in=lambda spec: {"options": [*spec.candidates[:OPTIONS]]},
    )


def _written(asker: Asker, n: int) -> list[Chain]:
    """Ask for one batch of each number of hops at a time, so that the next ones can be told what there is already."""
    by_hops = {hops: batches([spec for spec in chain_specs(n) if spec.hops == hops], BATCH) for hops in HOPS}
    chains: list[Chain] = []
    for turn in range(max(map(len, by_hops.values()))):
        step, known = chain_step(asker.prompts, chains), len(chains)
        specs = [spec for of_hops in by_hops.values() for spec in (of_hops[turn] if turn < len(of_hops) else [])]
        rows = asker.accepted(step, specs)
        chains += [_chain(spec, rows[spec.number]) for spec in specs if spec.number in rows]
        assert len(chains) == known + len(rows)
    return chains


def _chain(spec: ChainSpec, row: Item) -> Chain:
    facts, anchors = ([text.strip() for text in row[name]] for name in ("facts", "anchors"))
    return Chain(spec, tuple(facts), tuple(anchors), row["question"].strip())


def _audited(asker: Asker, chains: list[Chain]) -> list[Chain]:
    """Drop chains that disturb others: first looked at all together, then in windows that overlap by half."""
    before = len(chains)
    if chains:
        chains = _audit(asker, [Window(0, tuple(chains))])
    if len(chains) > BATCH:
        starts = range(0, len(chains) - BATCH // 2, BATCH // 2)
        chains = _audit(asker, [Window(i, tuple(chains[at : at + BATCH])) for i, at in enumerate(starts, 1)])
    clashes = dict(checks.people_are_disjoint(chains))
    for place, clash in clashes.items():
        asker.log.drop(checks.people_are_disjoint.__name__, "chains without conflicts", chains[place].label, clash)
    kept = [chain for place, chain in enumerate(chains) if place not in clashes]
    asker.log.count("chains without conflicts", before, len(kept))
    return kept


def _audit(asker: Asker, windows: Sequence[Window]) -> list[Chain]:
    """Return the chains of all windows that no audit drops; an audit without a verdict drops nothing, and is logged."""
    dropped: dict[str, str] = {}
    for found in asker.accepted(audit_step(asker.prompts), windows).values():
        dropped |= {drop["id"]: drop["reason"] for drop in found["to_drop"]}
    for label, reason in dropped.items():
        asker.log.drop("conflict", "audits", label, reason)
    chains = {chain.label: chain for window in windows for chain in window.chains}
    return [chain for label, chain in chains.items() if label not in dropped]


def _without_duplicates(asker: Asker, chains: Sequence[Chain]) -> list[Chain]:
    """Drop chains with a fact that is like one of an earlier chain."""
    seen, kept, step = Duplicates(FACT), [], "chains without near duplicates"
    for chain in chains:
        if like := seen.like(chain.facts, chain.label):
            asker.log.drop("duplicate", step, chain.label, f"one of its facts is like one of {like}")
        else:
            kept.append(chain)
    asker.log.count(step, len(chains), len(kept))
    return kept


def _with_options(asker: Asker, chains: Sequence[Chain], n: int, seed: int) -> tuple[list[Chain], dict[int, list[str]]]:
    """Return the first chains of each number of hops, up to the targets, and their wrong options by number.

    A chain without options gives way to a spare one. It takes its facts along, so chains that had its end as an option
    are asked about again, until all options stand in stored facts.
    """
    left, options = list(chains), dict[int, list[str]]()
    while True:
        chosen = _first_of_each(left, n)
        ends = {chain.anchors[-1] for chain in chosen}
        waiting = [chain for chain in chosen if not ends.issuperset(options.get(chain.spec.number, ["?"]))]
        if not waiting:
            asker.log.count("chains up to the targets", len(chains), len(chosen))
            return chosen, options
        specs = [spec for chain in waiting if (spec := _options_spec(asker, chain, chosen, seed))]
        found = asker.accepted(options_step(asker.prompts), specs)
        by_number = {spec.number: spec for spec in specs}
        options |= {number: _as_listed(row["options"], by_number[number].candidates) for number, row in found.items()}
        left = [chain for chain in left if chain not in waiting or chain.spec.number in found]


def _options_spec(asker: Asker, chain: Chain, stored: Sequence[Chain], seed: int) -> OptionsSpec | None:
    """Return the ends of other stored chains that could be wrong options; None, and a note, if they are too few."""
    fitting = {
        normalised(end): end
        for end in (other.anchors[-1] for other in stored if other is not chain)
        if not checks.overlap(end, chain.anchors[-1]) and not checks.stands_in_chain(end, chain)
    }
    if len(fitting) < OPTIONS:
        reason = f"only {len(fitting)} other chains have ends that could be wrong options, {OPTIONS} are needed"
        asker.log.drop("enough_candidates", "options", chain.label, reason)
        return None
    stream = RandomStream("memfail candidates", seed, chain.label)
    return OptionsSpec(chain, tuple(stream.sample([*fitting.values()], CANDIDATES)))


def _as_listed(options: Sequence[str], candidates: Sequence[str]) -> list[str]:
    """Return options in the spelling of the candidates, which is that of the facts."""
    listed = {normalised(candidate): candidate for candidate in candidates}
    return [listed[normalised(option)] for option in options]


def _first_of_each(chains: Sequence[Chain], n: int) -> list[Chain]:
    return [
        chain
        for hops, most in targets(n).items()
        for chain in [chain for chain in chains if chain.spec.hops == hops][:most]
    ]


def _row(number: int, chain: Chain, wrong: Sequence[str], order: Sequence[int]) -> Row:
    """Return a row with the published columns; `order` gives the places of the wrong options and then the true one."""
    hops, answer = chain.spec.hops, chain.anchors[-1]
    options = [[*wrong, answer][i] for i in order]
    listed = "\n".join(f"{letter}. {option}" for letter, option in zip(LETTERS, options, strict=True))
    return {
        "id": f"longhop-{hops}hop-{number:03}",
        "hop_count": hops,
        **{name: chain.facts[i] if i < len(chain.facts) else None for i, name in enumerate(FACTS)},
        **{name: chain.anchors[i] if i < len(chain.anchors) else None for i, name in enumerate(CHAIN)},
        "graded_question": chain.question + OPTIONS_MARK + listed,
        "ground_truth_answer": answer,
        **dict(zip(CHOICES, options, strict=True)),
        "correct_choice": LETTERS[options.index(answer)],
    }
