"""Code of the form of the three reference implementations, with words of ours, and what runs its functions.

`EPBENCH_REFERENCES=DIR` has the tests read real copies in DIR/tulving, DIR/booksort and DIR/memfail, too.
"""

from __future__ import annotations

import ast
import json
import os
from pathlib import Path

import numpy as np

from tests.published_archive import TRACES

REAL = os.environ.get("EPBENCH_REFERENCES")
COPIES = ["made", *(["real"] if REAL else [])]


def copy_of(name: str, benchmark: str, folder: Path) -> Path:
    """A folder with the code: the real one, or files of the same form."""
    if name == "real":
        return Path(str(REAL)) / benchmark
    for path, text in MADE[benchmark].items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return folder


def functions(file: Path, *names: str, **known):
    """The functions, classes and values of these names, without their annotations and defaults."""
    tree = ast.parse(file.read_text("utf-8"))
    kept = [node for node in tree.body if names_of(node) & set(names)]
    for node in (each for kept_node in kept for each in ast.walk(kept_node)):
        if isinstance(node, ast.FunctionDef):
            node.returns, node.args.defaults = None, [ast.Constant(None) for _ in node.args.defaults]
        if isinstance(node, ast.arg):
            node.annotation = None
    found = {"json": json, **known}
    exec(compile(ast.fix_missing_locations(ast.Module(kept, [])), str(file), "exec"), found)
    return found


def names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    return {ast.unparse(target) for target in node.targets} if isinstance(node, ast.Assign) else set()


def constants(file: Path) -> dict[str, str]:
    """The texts that a file assigns to names."""
    nodes = [node for node in ast.parse(file.read_text("utf-8")).body if isinstance(node, ast.Assign)]
    return {ast.unparse(n.targets[0]): n.value.value for n in nodes if isinstance(n.value, ast.Constant)}


def array(items) -> np.ndarray:
    return np.array(list(items), dtype=object)


CUES = {"t": "t", "s": "s", "e": "ent", "c": "c"}


def _templates() -> str:
    from epbench.tulving.questions.templates import PUBLISHED_TEMPLATES

    rows = []
    for each in PUBLISHED_TEMPLATES:
        template = f"Ours {each.id}: " + ", ".join(f"{{{CUES[letter]}}}" for letter in each.cue) + "?"
        rows.append({"cue": "(…)", "retrieval_type": TRACES[each.trace], "get": each.get, "template": template})
    return f"def qa_templates():\n    return {rows!r}\n"


_CHAPTER = '''    result = f"""\\
Tell a {KIND} piece, {style}, of {entity} at a {content}. \\
It is {date}, at {location}, and {entity} {content_single_detail}.
{str_numbering}, of the usual length.
- '{location}': in paragraph{s_paragraphs_location} {idx_location_str} only
- '{date}': in paragraph{s_paragraphs_date} {idx_date_str} only
- '{entity}': in paragraph{s_paragraphs_entity} {idx_entity_str} only
- '{first_name} {content_single_detail}': in paragraph{s_paragraphs_content} {idx_content_str}
{first_name} in {style}, that is {style_description}; braces {{stay}}.
"""
'''

_PERSONA = """
def _array_schema(name, item_props, required):
    item = {"type": "object", "properties": item_props, "required": required, "additionalProperties": False}
    results = {"type": "array", "items": item}
    schema = {"type": "object", "properties": {"results": results}, "required": ["results"], "additionalProperties": False}
    return {"type": "json_schema", "json_schema": {"name": name, "schema": schema, "strict": True}}


def _essay(t):
    return (t.get("entity_facts") or [""])[0]


def _fmt_storage_entries(batch):
    parts = []
    for i, t in enumerate(batch, start=1):
        parts.append(f"<{i}> WHO: {t.get('entity', '').strip()}\\nWHAT: {_essay(t)}")
    return "\\n\\n".join(parts)


def _fmt_retrieval_entries(batch):
    parts = []
    for i, t in enumerate(batch, start=1):
        parts.append(
            f"<{i}> ASKED: {t.get('question', '')}\\nWHO: {t.get('entity', '').strip()} WHAT: {_essay(t)}\\n"
            f"SHOWN:\\n{t.get('retrieved_memories') or '(none)'}"
        )
    return "\\n~~\\n".join(parts)


def _fmt_invocation_entries(batch):
    parts = []
    for i, t in enumerate(batch, start=1):
        parts.append(f"<{i}> {_essay(t)} TRUE: {t.get('ground_truth_answer', '')} SAID: {t.get('llm_response', '')}")
    return "\\n~~\\n".join(parts)


def _fmt_abstention_entries(batch):
    parts = []
    for i, t in enumerate(batch, start=1):
        parts.append(f"<{i}> NOT: {t.get('distractor', '').strip()} SAID: {t.get('llm_response', '')}")
    return "\\n~~\\n".join(parts)


DEFAULT_BATCH_SIZE = 4
"""


def _grader(stages: dict[str, str], *hard: str) -> str:
    """A file of prompts and schemas, by stage with the text of the user's message."""
    lines = []
    for stage, text in stages.items():
        name = stage.removesuffix("_HARD")
        lines.append(f"{name}_USER{'_HARD' if stage in hard else ''} = {text!r}")
        lines.append(f"{name}_SYSTEM{'_HARD' if stage in hard[:2] else ''} = {f'You check {stage}.'!r}")
        fields = {f"{name.lower()}_ok": {"type": "boolean"}, f"{name.lower()}_why": {"type": "string"}}
        schema = {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}
        lines.append(f"{name}_SCHEMA = { ({'type': 'json_schema', 'json_schema': {'name': 'x', 'schema': schema}})!r}")
    return "\n".join(lines) + "\n"


_RULE = "{entity} {behavior} {condition}; {entity}?"
_STORE = "IN:\n{all_memories_formatted}\nIs it there?"
_SHOWN = "ASKED {query} SHOWN:\n{retrieved_memories}\nIs it there?"
_USED = "TRUE {ground_truth_answer} SAID {llm_response}"

MADE: dict[str, dict[str, str]] = {
    "tulving": {
        "epbench/src/evaluation/prompts.py": '''def generate_episodic_memory_prompt(book_content, question):
    prompt = f"""Read, it's {{long}}:

{book_content}

Now: {question}

Say what you know.
"""
    return prompt
''',
        "epbench/src/evaluation/generator_answers_1_prompting.py": """def generate_answers_func(my_benchmark):
    system_prompt = "You remember."
    return system_prompt
""",
        "epbench/src/evaluation/generator_answers_2_rag.py": '''def generate_episodic_memory_rag_prompt(book_content, question):
    prompt = f"""Read what was found:

{book_content}

Asked: {question}

By what was found.
"""
    return prompt


def query_message(question, df):
    book_content = ""
    for string in df:
        next_article = f'\\n\\n<<\\n{string}\\n>>'
        book_content += next_article
    return generate_episodic_memory_rag_prompt(book_content, question)
''',
        "epbench/src/generation/benchmark_generation_wrapper.py": """class Wrapper:
    def later(self):
        return f"{"needs a later Python"}"

    def get_user_prompt_for_finetuning(self, question):
        preprompt = f'About "{self.book_name()}".'
        res = f"{preprompt}/n Asked: {question}"
        return res

    def last(self):
        pass
""",
        "epbench/src/evaluation/scoring_answers.py": '''def judge_prompt_func(retrieval_type, correct_answer, llm_answer, correct_answer_long=None):
    d = [{x: "a number"} for x in correct_answer]
    if correct_answer_long is None:
        adding_text = ""
    else:
        adding_text = f'- just {json.dumps(d)}'
    prompt = f"""
Sort: {retrieval_type}
True: {correct_answer_long}
Said: {llm_answer}
{adding_text}
{{"items": [], "scores": {json.dumps(d)}}}
"""
    return prompt


def judge_prompt_chronological_func(groundtruth_items, predicted_items):
    groundtruth_indexes = [x for x in range(len(groundtruth_items))]
    chronological_prompt = f"""True: {groundtruth_items}, {groundtruth_indexes}
Said: {predicted_items}
{{"order": {groundtruth_indexes}}}
    """
    return chronological_prompt


def evaluate_chronological(groundtruth_items, predicted_items, my_model):
    system_prompt = "You put in order."
    return system_prompt
''',
        "epbench/src/generation/prompts.py": """def s_func(nb):
    return "" if nb == 1 else "s"


def complete_prompt_func(event, nb_paragraphs, idx_paragraph, style, name_styles):
    idx_location_str, idx_date_str = idx_paragraph["location"], idx_paragraph["date"]
    idx_entity_str, idx_content_str = idx_paragraph["entity"], idx_paragraph["content"]
    date, location, entity = event[0], event[1], event[2]
    first_name, last_name = entity.split()
    content = event[3].lower()
    content_single_detail = event[4][0].lower() + event[4][1:]
    style_description = ', '.join(parameters_styles_func(name_styles)['style_to_description'][style])
    s_paragraphs = s_func(nb_paragraphs)
    s_paragraphs_location = s_paragraphs_date = s_paragraphs_entity = s_paragraphs_content = ""
    if nb_paragraphs > 1:
        str_numbering = f"1. {nb_paragraphs} paragraph{s_paragraphs}, (1), (2), etc."
    else:
        str_numbering = f"1. One paragraph, (1)"
"""
        + _CHAPTER.replace("{KIND}", "novel")
        + '    if name_styles == "news":\n'
        + _CHAPTER.replace("{KIND}", "news").replace("    result", "        result")
        + '    if name_styles == "scifi":\n'
        + _CHAPTER.replace("{KIND}", "scifi").replace("    result", "        result")
        + '''    return result


def system_prompt_func():
    return "You write. \\
Well."


def system_prompt_verification_func():
    return """You check."""


def verification_prompt_func(text):
    verification_prompt_location = f"One place?"
    verification_prompt_date = f"One day?"
    verification_prompt_entity = f"One person?"
    verification_prompt_content = f"One event?"
    verification_prompt = f"""[{text}]
    1. {verification_prompt_location} 2. {verification_prompt_date}
    3. {verification_prompt_entity} 4. {verification_prompt_content}
    {{ "1": [boolean] }}
    """
    return verification_prompt
''',
        "epbench/src/generation/qa_templates.py": _templates(),
    },
    "booksort": {
        **{
            f"sort/evaluation/conf/prompts/prompt_{number}.yaml": f'''name: "prompt_{number}.yaml"
system_prompt: "You help {number}."
pre_excerpt: "Read <booktitle> {{once}}: <excerpt>"
post_excerpt: "Which is <tasktype> in <booktitle>, <label_list[0]> or <label_list[1]>? <segments> Say it."
model_answer_prefix: "Answer: Segment"'''
            for number in (0, 1, 2, 10)
        },
        "sort/evaluation/evaluation.py": """def experiment(cfg):
    segments_prompt = f"Part {cfg.label_list[0]}: {segment_1} Part {cfg.label_list[1]}:" \\
                      f" {segment_2}\\n"
    return segments_prompt
""",
    },
    "memfail": {
        "src/prompt_templates.py": '''def format_history(conversation):
    parts = []
    for msg in conversation.messages:
        parts.append(f"User: {msg.raw_query}")
        parts.append(f"Assistant: {msg.response}")
    return "\\n".join(parts)


class SimplePromptTemplate:
    def format(self, query, memories, conversation, graded=True):
        return query


class ConversationHistoryPromptTemplate:
    def format(self, query, memories, conversation, graded=True):
        history = format_history(conversation)
        if not graded:
            parts = [
                "You chat. "
                "Remember it."
            ]
            if memories:
                parts.append(f"Memories:\\n{memories}")
            if history:
                parts.append(f"Before:\\n{history}")
            parts.append(f"Now: {query}")
            return "\\n\\n".join(parts)
        return f"""You answer {{well}}.
Before:
{history}
Memories:
{memories}
Asked:
{query}
Answer:"""
''',
        "playground/long_hop/evaluate_long_hop.py": """def _wrap_mcq_for_eval(question_with_choices):
    return (
        f"{question_with_choices}\\n\\n"
        f"Choose one: "
        f"{{\\"selected_choice\\": \\"A\\"}}"
    )
""",
        "playground/conditional_facts/analyze_errors.py": _grader(
            {
                "STORAGE": "FACT {original_fact} " + _STORE,
                "SUMMARY": "FACT {original_fact} whole? " + _STORE,
                "RETRIEVAL": "FACT {original_fact} " + _SHOWN,
                "STORAGE_HARD": _RULE + _STORE,
                "SUMMARY_HARD": _RULE + " whole? " + _STORE,
                "RETRIEVAL_HARD": _RULE + _SHOWN,
                "INVOCATION": "FACT {original_fact} " + _USED,
            },
            "STORAGE_HARD",
            "SUMMARY_HARD",
            "RETRIEVAL_HARD",
        ).replace("RETRIEVAL_SYSTEM = 'You check RETRIEVAL_HARD.'\n", ""),
        "playground/coexisting_facts/analyze_errors.py": _grader(
            {
                "FACT_STORAGE": "LIKES {preference} {original_fact} " + _STORE,
                "FACT_SUMMARY": "LIKES {preference} {original_fact} whole? " + _STORE,
                "FACT_RETRIEVAL": "LIKES {preference} {original_fact} " + _SHOWN,
                "INVOCATION": "ALL:\n{expected_preferences}\n" + _USED,
            }
        ),
        "playground/long_hop/analyze_errors.py": _grader(
            {
                "FACT_STORAGE": "LINK {target_message} " + _STORE,
                "FACT_SUMMARY": "LINK {target_message} whole? " + _STORE,
                "FACT_RETRIEVAL": "LINK {target_message} " + _SHOWN,
            }
        ),
        "playground/custom_persona_retrieval/analyze_errors.py": _PERSONA
        + "".join(
            f'{name}_SYSTEM = "You check {name}."\n'
            f'{name}_USER_FMT = """{store}ENTRIES ({{n}}):\n{{entries}}\n1..{{n}}"""\n'.replace("({n})", "")
            + f'{name}_SCHEMA = _array_schema("x", {{"id": {{"type": "integer"}}, "{name.lower()}_ok": {{"type": "boolean"}}, '
            f'"{name.lower()}_why": {{"type": "string"}}}}, ["id", "{name.lower()}_ok", "{name.lower()}_why"])\n'
            for name, store in (
                ("STORAGE", "{all_memories_formatted}\n"),
                ("SUMMARY", "{all_memories_formatted} whole?\n"),
                ("RETRIEVAL", ""),
                ("INVOCATION", ""),
                ("ABSTENTION", ""),
            )
        ),
    },
}
