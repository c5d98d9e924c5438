"""Each installed system with the replies that a good model gives it, and what its memory of a text looks like."""

import ast
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Reply = Callable[[Mapping[str, Any]], Any]


def mem0_reply(body):
    """What a good model says: each text of the user is a fact, and each fact is added."""
    prompt = body["messages"][-1]["content"]
    if "## New Messages" in prompt:  # the call of 2.x
        new = prompt.split("## New Messages")[1].split("## Observation Date")[0]
        return json.dumps({"memory": [{"text": fact} for fact in re.findall(r"^user: (.*)$", new, re.M)]})
    if prompt.startswith("Input:"):  # the first call of 1.x
        return json.dumps({"facts": re.findall(r"^user: (.*)$", prompt, re.M)})
    facts = ast.literal_eval(re.findall(r"```\s*(\[.*?\])\s*```", prompt, re.S)[-1])  # the second call of 1.x
    return json.dumps({"memory": [{"id": "new", "text": fact, "event": "ADD"} for fact in facts]})


def mem0_all(texts):
    memory = [{"id": "new", "text": text, "event": "ADD"} for text in texts]
    return json.dumps({"facts": texts[:1], "memory": memory})


def a_mem_reply(body):
    """Answer the two prompts of A-MEM, which differ in the schema that they ask for."""
    prompt = body["messages"][-1]["content"]
    if "should_evolve" in body["response_format"]["json_schema"]["schema"]["properties"]:
        neighbours = re.findall(r"memory_id:(\S+)", prompt)
        return json.dumps(
            {
                "should_evolve": True,
                "actions": ["strengthen", "update_neighbor"],
                "suggested_connections": neighbours[:1],
                "tags_to_update": ["linked"],
                "new_context_neighborhood": ["a neighbour"] * len(neighbours),
                "new_tags_neighborhood": [["near", "by"]] * len(neighbours),
            }
        )
    said = prompt.rpartition("Content for analysis:")[2].strip()
    return json.dumps({"keywords": said.split()[:3], "context": "a hobby", "tags": ["life", "fact"]})


def entries(texts):
    return json.dumps(
        [{"lossless_restatement": t, "keywords": [], "timestamp": None, "persons": [], "topic": "life"} for t in texts]
    )


def simplemem_reply(body):
    """Answer the prompts of SimpleMem, each of which has a system message of its own."""
    task, prompt = (message["content"] for message in body["messages"])
    if "information extraction" in task:
        window = prompt.partition("[Current Window Dialogues]")[2].partition("[Requirements]")[0]
        said = re.findall(r"^\[.+?\] (?:User|Assistant): (.+)$", window, re.MULTILINE)
        return entries(said)
    if "requirement analyst" in task:
        return json.dumps({"question_type": "factual", "required_info": [], "minimal_queries_needed": 1})
    if "query generation specialist" in task:
        return "```json\n" + json.dumps({"reasoning": "one is enough", "queries": []}) + "\n```"
    if "completeness evaluator" in task:
        return json.dumps({"assessment": "incomplete", "coverage_percentage": 50})
    assert "missing information" in task, task
    return json.dumps({"targeted_queries": ["barn", "tea"]})


def calls(*arguments, name="Memory"):
    """A message that calls a tool with each of these arguments, which are texts."""
    made = [
        {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": text}}
        for number, text in enumerate(arguments)
    ]
    return {"content": None, "tool_calls": made}


def langmem_reply(body):
    """What a good model says: each text of the user is a memory."""
    session = body["messages"][-1]["content"].split("<session_")[1]
    said = re.findall(r"Human Message =+\n\n(.*?)\n+(?:=+ Ai Message|</session)", session, re.S)
    return calls(*(json.dumps({"content": fact}) for fact in said))


def graphiti_reply(body):
    """What a good model says: the first word of a sentence and the rest are entities, and the sentence links them."""
    wanted = body["response_format"].get("json_schema", {}).get("name", "")
    prompt = body["messages"][-1]["content"]
    said = re.findall(r"^(?:\[?\d*\]?\s*)?user: (.*)$", prompt, re.M)
    first, _, rest = (said[-1] if said else "nobody knows").partition(" ")
    if wanted == "ExtractedEntities":
        found = [{"name": name, "entity_type_id": 0} for name in (first, rest or "it")]
        return json.dumps({"extracted_entities": found})
    if wanted == "NodeResolutions":
        ids = [int(i) for i in re.findall(r'"id": (\d+)', prompt)]
        return json.dumps({"entity_resolutions": [{"id": i, "name": "", "duplicate_candidate_id": -1} for i in ids]})
    if wanted == "ExtractedEdges":
        edge = {"source_entity_name": first, "target_entity_name": rest or "it", "relation_type": "DOES"}
        return json.dumps({"edges": [{**edge, "fact": f"{first} {rest}"}]})
    if wanted == "EdgeDuplicate":
        return json.dumps({"duplicate_facts": [], "contradicted_facts": []})
    if wanted in ("EdgeTimestamps", "BatchEdgeTimestamps"):
        return json.dumps({"timestamps": [], "valid_at": None, "invalid_at": None})
    return json.dumps({"summaries": [], "summary": "known"})


def cognee_reply(body):
    """What a model may say: one entity in the graph, and a summary."""
    if "source_node_id" in json.dumps(body):
        node = {"id": "somebody", "name": "Somebody", "type": "Person", "description": "a person"}
        return json.dumps({"nodes": [node], "edges": []})
    return json.dumps({"summary": "a summary", "description": ""})


def structmem_reply(body):
    """Answer extractions with what the user said, updates with no change, and summaries with a text."""
    task, prompt = body["messages"][0]["content"], body["messages"][-1]["content"]
    if "Target memory:" in prompt:
        return json.dumps({"action": "ignore"})
    if "response_format" not in body:
        return "Somebody said something."
    if "relation" in task.lower() and "fact" not in task.lower().split("relation")[0]:
        return json.dumps({"data": []})
    said = re.findall(r"(\d+)\.user: (.+)", prompt)
    return json.dumps({"data": [{"source_id": int(i), "fact": text} for i, text in said]})


def made_up_checkout(folder, segments=True):
    package = folder / "src" / "lightmem" / "memory"
    package.mkdir(parents=True)
    for where in (package, package.parent):
        (where / "__init__.py").touch()
    source = Path(__file__).with_name("made_up_lightmem.py").read_text()
    (package / "lightmem.py").write_text(source.replace("SEGMENTS = True", f"SEGMENTS = {segments}"))
    return folder


@dataclass(frozen=True)
class Scripted:
    """What the tests of a system need."""

    target: str  # `module:Class` in `epbench.memories.systems`
    reply: Reply
    seen: Callable[[str], str] = lambda memory: memory  # from a memory to the text that was told
    environ: Mapping[str, str] = field(default_factory=dict)  # which would lead it to another address
    settings: Mapping[str, Any] = field(default_factory=dict)
    many: Callable[[list[str]], Any] | None = None  # a reply that makes a memory of each of these texts
    unreadable: tuple[Any, ...] = ()  # replies that cannot be read
    asks: int = 1  # how often it asks where it cannot read a reply
    hides: int | None = None  # the errors of its model that it hides for one conversation; None if it raises them


_KEYS = {"OPENROUTER_API_KEY": "sk-1", "OPENAI_API_BASE": "http://example.com"}
_MEM0 = Scripted(
    "mem0:Mem0", mem0_reply, environ=_KEYS | {"MEM0_TELEMETRY": "True"}, many=mem0_all,
    unreadable=("Sure! I will remember that.", "", '{"memories": []}', '["tea"]'),
)  # fmt: skip
SCRIPTED = {
    "mem0": _MEM0,
    "mem0-1": _MEM0,
    "a-mem": Scripted("a_mem:AMem", a_mem_reply, lambda memory: memory.partition("\nContext")[0], hides=1),
    "simplemem": Scripted(
        "simplemem:SimpleMem", simplemem_reply, many=entries, asks=3, hides=3,
        unreadable=("I would rather not.", '{"lossless_restatement": "no list"}', '[{"text": "?"}]', ""),
    ),
    "langmem": Scripted(
        "langmem:LangMem", langmem_reply, many=lambda texts: calls(*(json.dumps({"content": t}) for t in texts)),
        environ=_KEYS | {"LANGSMITH_API_KEY": "ls-1", "LANGSMITH_TRACING": "true"},
        unreadable=("Sure! I will remember that.", calls('{"content": "tea'), calls("tea")),
    ),
    "graphiti": Scripted("graphiti:Graphiti", graphiti_reply),
    "cognee": Scripted("cognee:Cognee", cognee_reply, lambda memory: memory.removeprefix("user: ")),
    "structmem": Scripted(
        "structmem:StructMem", structmem_reply, lambda memory: memory.split(" ", 2)[2],
        environ={"OPENROUTER_API_KEY": "not for a memory system"}, settings={"update_score": 2.0},  # nothing is that near
        many=lambda texts: json.dumps({"data": [{"source_id": 0, "fact": text} for text in texts]}),
        unreadable=("I would rather not.", "", '{"facts": []}'), asks=2, hides=2,  # for facts, and for relations
    ),
}  # fmt: skip
