"""The claims of the paper, in our words: each is a function from the cells of runs to evidence.

Paper: Sections 1, 5.1 and 6 with its takeaways. What a claim leaves open is decided here and said in its text: what is little
is `evidence.MARGIN`, and the weakest internal model is the one of Figure 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from epbench.memfail.claims.cells import with_errors
from epbench.memfail.claims.evidence import MARGIN, Evidence, above, below, little_gain, weigh
from epbench.memfail.claims.measures import (
    COEXISTING,
    EASY,
    HARD,
    LONG_HOP,
    PERSONA,
    STRONGER,
    WEAKEST,
    Cells,
    a_mem_summarises_best,
    bound_by,
    follows_tokens,
    from_stronger_models,
    gains,
    mem0_loses_long_texts,
    nobody_dominates,
    of_systems,
    share_of_errors,
    share_of_questions,
    spends_without_gain,
    versus,
    without,
)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim.

    Attributes:
        name: Short and unique, for files.
        section: Where the paper makes it.
        text: What it says.
        test: What decides it.
        needs: The runs without which nothing is decided.
    """

    name: str
    section: str
    text: str
    test: Callable[[Cells], Evidence]
    needs: str

    def of(self, cells: Cells) -> Evidence:
        """What these cells say about the claim."""
        evidence = self.test(cells)
        return evidence if evidence.cases else Evidence("not decided", evidence.rule, missing=self.needs)


_TWO_K = "runs of one system at two k"
_ERRORS = "runs with errors by stage"
_MODELS = f"runs of one system with {WEAKEST} and with one of {', '.join(STRONGER)}"

CLAIMS: Sequence[Claim] = (
    Claim(
        "no-system-dominates", "1", "Every system is beaten by another one on some task.", nobody_dominates,
        "runs of two systems with one internal model",
    ),
    Claim(
        "mem0-best-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts Mem0 passes more questions than the other systems.",
        lambda cells: weigh(versus(cells, "Mem0", COEXISTING), above(0), "most"),
        f"runs of Mem0 (version 1) and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-collapses-on-coexisting", "1, 6 (Q1)", "On Coexisting-Facts StructMem passes fewer than every other system.",
        lambda cells: weigh(versus(cells, "StructMem", COEXISTING), below(0), "all"),
        f"runs of StructMem and of another system on {COEXISTING}",
    ),
    Claim(
        "structmem-leads-on-causal-tasks", "1, 6 (Q4)",
        "On Long-Hop and Conditional-Facts the graph of StructMem passes more than the other systems.",
        lambda cells: weigh(versus(cells, "StructMem", LONG_HOP, EASY, HARD), above(0), "most"),
        f"runs of StructMem and of another system on {LONG_HOP}, {EASY} or {HARD}",
    ),
    Claim(
        "coexisting-grows-with-k", "6 (Q1)", "On Coexisting-Facts more memories raise success.",
        lambda cells: weigh(gains(c for c in cells if c.config == COEXISTING), above(0), "most"),
        f"{_TWO_K} on {COEXISTING}",
    ),
    Claim(
        "elsewhere-k-gains-little", "1, 6 (Q1)", f"On all other tasks more memories gain little (at most {MARGIN:g}).",
        lambda cells: weigh(gains(c for c in cells if c.config != COEXISTING), little_gain, "all"),
        f"{_TWO_K} on other configs than {COEXISTING}",
    ),
    Claim(
        "k-helps-where-retrieval-fails", "6 (Q1, takeaway)",
        "Where retrieval is the commonest error, more memories raise success.",
        lambda cells: weigh(gains(bound_by(cells, "retrieval")), above(0), "most"),
        f"{_TWO_K}, with retrieval as the commonest error",
    ),
    Claim(
        "k-gains-little-where-summaries-fail", "6 (Q1, takeaway)",
        f"Where summary is the commonest error, more memories gain little (at most {MARGIN:g}).",
        lambda cells: weigh(gains(bound_by(cells, "summary")), little_gain, "all"),
        f"{_TWO_K}, with summary as the commonest error",
    ),
    Claim(
        "coexisting-induces-retrieval-errors", "6 (Q1)", "On Coexisting-Facts most errors of most systems are of retrieval.",
        lambda cells: weigh(share_of_errors(with_errors(cells, COEXISTING), "retrieval"), above(0.5), "most"),
        f"{_ERRORS} on {COEXISTING}",
    ),
    Claim(
        "hard-induces-summary-errors", "6 (Q1)", "On Conditional-Facts (Hard) most errors of all systems are of summary.",
        lambda cells: weigh(share_of_errors(with_errors(cells, HARD), "summary"), above(0.5), "all"),
        f"{_ERRORS} on {HARD}",
    ),
    Claim(
        "persona-induces-summary-errors", "6 (Q1)",
        "On Persona-Retrieval most errors of all systems but Mem0 are of summary (direct questions).",
        lambda cells: weigh(share_of_errors(without(with_errors(cells, PERSONA), "Mem0"), "summary"), above(0.5), "all"),
        f"{_ERRORS} of other systems than Mem0 on {PERSONA}",
    ),
    Claim(
        "mem0-loses-personas-in-storage", "6 (Q1, Q4)",
        "On Persona-Retrieval most errors of Mem0 are of storage (direct questions).",
        lambda cells: weigh(share_of_errors(of_systems(with_errors(cells, PERSONA), "Mem0"), "storage"), above(0.5), "all"),
        f"{_ERRORS} of Mem0 (version 1) on {PERSONA}",
    ),
    Claim(
        "mem0-keeps-short-texts", "6 (Q4)", "Mem0 loses more long texts (personas) than short ones (preferences) in storage.",
        mem0_loses_long_texts, f"{_ERRORS} of Mem0 (version 1) on {PERSONA} and {COEXISTING} with one internal model",
    ),
    Claim(
        "long-hop-induces-retrieval-errors", "6 (Q1)", "On Long-Hop most errors of most systems are of retrieval.",
        lambda cells: weigh(share_of_errors(with_errors(cells, LONG_HOP), "retrieval"), above(0.5), "most"),
        f"{_ERRORS} on {LONG_HOP}",
    ),
    Claim(
        "only-mem0-fails-in-storage", "6 (Q1)", f"All systems but Mem0 lose few questions in storage (at most {MARGIN:g}).",
        lambda cells: weigh(share_of_questions(without(with_errors(cells), "Mem0"), "storage"), below(MARGIN), "all"),
        f"{_ERRORS} of other systems than Mem0",
    ),
    Claim(
        "reasoning-errors-are-infrequent", "5.1", f"Errors of reasoning are infrequent everywhere (at most {MARGIN:g}).",
        lambda cells: weigh(share_of_questions(with_errors(cells), "reasoning"), below(MARGIN), "all"),
        _ERRORS,
    ),
    Claim(
        "stronger-models-gain-little", "1, 6 (Q2, takeaway)",
        f"A stronger model inside the system gains little (at most {MARGIN:g}).",
        lambda cells: weigh(from_stronger_models(cells), little_gain, "all"), _MODELS,
    ),
    Claim(
        "stronger-models-can-harm", "1, 6 (Q2)", "A stronger model inside the system lowers success in several cases.",
        lambda cells: weigh(from_stronger_models(cells), below(0), "some"), _MODELS,
    ),
    Claim(
        "hard-grows-with-tokens", "1, 6 (Q3)", "On Conditional-Facts (Hard) systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, HARD, rises=True), f"tokens of at least four systems or models on {HARD}",
    ),
    Claim(
        "persona-grows-with-tokens", "1, 6 (Q3)", "On Persona-Retrieval systems with longer memories pass more.",
        lambda cells: follows_tokens(cells, PERSONA, rises=True), f"tokens of at least four systems or models on {PERSONA}",
    ),
    Claim(
        "coexisting-falls-with-tokens", "1, 6 (Q3)", "On Coexisting-Facts systems with longer memories pass fewer.",
        lambda cells: follows_tokens(cells, COEXISTING, rises=False),
        f"tokens of at least four systems or models on {COEXISTING}",
    ),
    Claim(
        "a-mem-spends-without-gain", "6 (Q4, Q5)",
        f"Where A-MEM takes more tokens than another system, it gains little (at most {MARGIN:g}).",
        spends_without_gain, "runs of A-MEM and of another system with tokens",
    ),
    Claim(
        "a-mem-summarises-best", "6 (Q4)", "On Conditional-Facts (Hard) A-MEM has fewer errors of summary than other systems.",
        a_mem_summarises_best, f"{_ERRORS} of A-MEM and of another system on {HARD}",
    ),
)  # fmt: skip
