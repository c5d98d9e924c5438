"""What a training on books shows: what was trained, and nothing that is said of the books if they were not."""

from epbench.booksort.finetuning.measures import html_report, scores_of, tables_of

STEP = {"step": 1, "epoch": 1, "seconds": 1.0, "tokens": 10, "learned": 5, "loss": 2.0}
RUN = {"identity": {"method": "sort_lm"}, "command": "x", "python": "3", "platform": "p", "versions": {}}


def record(epoch, mass=0.9, failed=(0, 0), instructions=True):
    def sort(n_failed):
        return {
            "accuracy": None if n_failed else 0.5, "interval": None if n_failed else [0.4, 0.6],
            "greedy_accuracy": None if n_failed else 0.5, "label_mass": mass, "log_ratio": -0.7,
            "log_ratio_interval": [-0.8, -0.6], "n": 10 - n_failed, "n_failed": n_failed,
        }  # fmt: skip

    perplexity = {"segments": 3.0, "books": 2.0} | ({"instructions": 5.0} if instructions else {}) | {"held_out": 9.0}
    return {
        "epoch": epoch, "sort": sort(failed[0]), "sort_in_context": sort(failed[1]), "perplexity": perplexity,
        "pearson": None, "readout": None, "seconds": {},
    }  # fmt: skip


def shown(control=None, method="all weights", instructions=True):
    measures = [record(epoch, instructions=instructions) for epoch in (0, 1)]
    scores = scores_of(measures, [STEP], None, method, control)
    texts = [" ".join(table.markdown() for table in tables_of(scores)), html_report("run", RUN, scores, None)]
    return scores, texts


def test_the_first_epoch_is_episodic_and_the_method_is_named():
    scores, texts = shown(method="LoRA, rank 8, alpha 32")
    assert (scores["method"], scores["control"]) == ("LoRA, rank 8, alpha 32", None)
    for text in texts:
        assert "1 (episodic)" in text and "Method: LoRA, rank 8, alpha 32." in text
        assert "Segments, books and instructions are of the kinds that are trained" in text
    assert "Only after epoch 1 (dashed line)" in texts[1]


def test_of_a_control_it_is_not_said_that_the_books_were_read():
    scores, texts = shown("summaries")
    assert scores["control"] == "summaries"
    for text in texts:
        assert "episodic" not in text
        assert "This is a control (summaries): the books were never trained." in text
        assert "Instructions are of a kind that is trained." in text
        assert "Segments, books and the held-out text were never trained." in text


def test_instructions_are_mentioned_only_where_there_are_any():
    for control, note in ((None, "Segments and books are of"), ("summaries", "Segments, books and the held-out")):
        for text in shown(control, instructions=False)[1]:
            assert note in text and "nstructions" not in text


def test_a_small_label_mass_and_questions_without_an_answer_are_warned_of():
    one = scores_of([record(0, 0.0), record(1)], [STEP], None, "all weights")
    assert [warning.split(":")[0] for warning in one["warnings"]] == ["epoch 0"]
    both = scores_of([record(0, 0.2), record(1, 0.2)], [STEP], None, "all weights")
    assert both["warnings"][0].startswith("epochs 0, 1: A and B together have less than half")

    found = scores_of([record(0), record(1, failed=(2, 1))], [STEP], None, "all weights")
    assert found["warnings"] == ["epoch 1: 3 questions have no answer, so that accuracies are unknown"]
