"""Stored journals are taken up: keys and prompt hashes are those of earlier versions."""

from epbench.judges.protocol import PastJudge
from epbench.memfail.dataset.load import GoldMemory, Question
from epbench.memfail.judging.lexical import Check, LexicalJudge
from epbench.memfail.judging.load import load_judging_prompts

GOLD = tuple(GoldMemory(f"r/{i}", f"Ada sings {i}", ("Ada", f"sings {i}"), ("in drizzle",)) for i in range(2))
STORE = ("Ada sings 0 in drizzle", "Ada sings 1 in drizzle", "BAD")
QUESTION = Question("a", "conditional_facts_easy", "r", "", "a?", "a?", GOLD, "Yes — so it is.", (), "1")


def test_a_key_of_an_earlier_journal_is_found():
    rules, model = PastJudge("lexical", "rules-1"), PastJudge("openai:tiny", load_judging_prompts().hash)
    assert Check("storage", QUESTION, GOLD[0], STORE).key(rules) == "f3aad237b3825f71dd5d6ab3"
    assert Check("summary", QUESTION, GOLD[0], STORE).key(rules) == "7de40a4bee0b13b1bfc0a055"
    assert Check("reasoning", QUESTION, answer="Yes").key(rules) == "8605d7b50711d867f6f82858"
    assert Check("storage", QUESTION, GOLD[0], STORE).key(model) == "ed1c6d9910e732df17ecfbc1"
    assert load_judging_prompts().hash == "465ade17a32046bd" and LexicalJudge().prompt_hash == "rules-2"
