import pytest

from epbench.models.reasoning import split_reasoning


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("Paris.", "", "Paris."),
        ("<think>It was\nMay.</think>\n\nMay 07", "It was\nMay.", "May 07"),
        ("\n<thinking>a</thinking> b", "a", "b"),
        ("<THINK>a</THINK>b", "a", "b"),
        ("<think>one</think><think>two</think>three", "one\n\ntwo", "three"),
        ("<think></think>b", "", "b"),
        ("the prompt opened it</think>b", "the prompt opened it", "b"),
        ("<think>cut off in the mid", "cut off in the mid", ""),
        ("<think>a</think><think>cut", "a\n\ncut", ""),
        ("<think>", "", ""),
        ("He wrote <think> on the wall.", "", "He wrote <think> on the wall."),
        ("He wrote <think>x</think> there.", "", "He wrote <think>x</think> there."),
        ("", "", ""),
        (
            "<|channel|>analysis<|message|>Look it up.<|end|><|start|>assistant<|channel|>final<|message|>May 07<|return|>",
            "Look it up.",
            "May 07",
        ),
        (
            "<|channel|>analysis<|message|>a<|end|><|start|>assistant<|channel|>commentary to=x<|message|>b<|call|>",
            "a\n\nb",
            "",
        ),
        ("<|channel|>analysis<|message|>cut off", "cut off", ""),
        ("<|channel|>analysis a <|channel|>final b", "a", "b"),
        ("<|channel|>final<|message|>b", "", "b"),
        ("analysisLook it up.assistantfinalMay 07", "Look it up.", "May 07"),
        ("analysis of the text: May 07", "", "analysis of the text: May 07"),
    ],
)
def test_reasoning_is_split_off(text, reasoning, answer):
    assert split_reasoning(text) == (reasoning, answer)
