"""The Spaces of the metrics: each is really served on loopback, and computes the example of its card."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import subprocess
import sys
import venv
from typing import Any

import pytest
import yaml

from epbench.metric_folders import metric_names, metric_path

GRADIO = "6.31.0"


def card_of(name: str) -> str:
    return (metric_path(name) / "README.md").read_text("utf-8")


def header_of(name: str) -> dict[str, Any]:
    header: dict[str, Any] = yaml.safe_load(card_of(name).split("---\n")[1])
    return header


def example_of(name: str) -> dict[str, Any]:
    """The inputs of the example on the card."""
    code = re.search(r"## Examples\n\n```python\n(.*?)```", card_of(name), re.DOTALL)
    call = re.search(r"metric\.compute\((.*?)\)(?:\[|$)", code[1] if code else "", re.MULTILINE)
    assert call, name
    return {part.arg or "": ast.literal_eval(part.value) for part in ast.parse(f"f({call[1]})").body[0].value.keywords}  # type: ignore[attr-defined]


@pytest.fixture
def no_telemetry(monkeypatch):
    monkeypatch.setenv("GRADIO_ANALYTICS_ENABLED", "False")


@pytest.mark.slow
@pytest.mark.parametrize("name", metric_names())
def test_the_page_computes_the_example_of_the_card(name, no_telemetry):
    import evaluate
    from gradio_client import Client

    app = runpy.run_path(str(metric_path(name) / "app.py"))
    given = example_of(name)
    assert {input_: value for input_, value in app["EXAMPLE"].items() if value is not None} == given
    _, url, _ = app["page"].launch(prevent_thread_lock=True, quiet=True, server_name="127.0.0.1")
    try:
        page = Client(url, verbose=False)
        boxes = [json.dumps(given[input_]) if input_ in given else "" for input_ in app["EXAMPLE"]]
        computed = page.predict(*boxes, api_name="/compute")
        expected = evaluate.load(str(metric_path(name)), keep_in_memory=True).compute(**given)
        assert computed == json.loads(json.dumps(expected))
        for damaged in ("[[", "[null]"):
            with pytest.raises(Exception) as refused:  # the client's own type
                page.predict(damaged, *boxes[1:], api_name="/compute")
            assert "Traceback" not in str(refused.value) and len(str(refused.value)) > 10
    finally:
        app["page"].close()


@pytest.mark.parametrize("name", metric_names())
def test_the_header_pins_what_the_app_needs(name):
    header = header_of(name)
    assert header["sdk"] == "gradio" and header["sdk_version"] == GRADIO and header["app_file"] == "app.py"
    needed = set()
    for file in (f"{name}.py", "app.py"):
        for node in ast.walk(ast.parse((metric_path(name) / file).read_text("utf-8"))):
            if isinstance(node, ast.Import):
                needed |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                needed.add(str(node.module).split(".")[0])
    listed = {re.split(r"[<>=]", line)[0] for line in (metric_path(name) / "requirements.txt").read_text().split("\n")}
    assert needed - sys.stdlib_module_names == (listed - {""}) | {"gradio"}  # gradio comes with the SDK


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["episodic_f1", *(pytest.param(n, marks=pytest.mark.nightly) for n in metric_names() if n != "episodic_f1")]
)
def test_a_copy_of_the_folder_serves_with_its_requirements_alone(name, tmp_path, no_telemetry):
    """As on the Hub: an environment with the SDK and the file's requirements, and nothing of ours."""
    space = tmp_path / "app"
    space.mkdir()
    for path in metric_path(name).iterdir():
        if path.is_file():
            (space / path.name).write_bytes(path.read_bytes())
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*install, f"gradio=={header_of(name)['sdk_version']}", "-r", space / "requirements.txt"], check=True
    )
    env = os.environ | {"HF_HOME": str(tmp_path / "home"), "PYTHONPATH": ""}
    with subprocess.Popen([python, "-u", "app.py"], cwd=space, env=env, stdout=subprocess.PIPE, text=True) as served:
        try:
            url = served_at(served)
            assert computed_there(url, example_of(name))
        finally:
            served.kill()


def served_at(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    for line in process.stdout:
        if found := re.search(r"http://127\.0\.0\.1:\d+", line):
            return found[0]
    raise AssertionError("the app has ended")


def computed_there(url: str, given: dict[str, Any]) -> Any:
    from gradio_client import Client

    page = Client(url, verbose=False)
    inputs = [
        parameter["label"]
        for parameter in page.view_api(return_format="dict")["named_endpoints"]["/compute"]["parameters"]
    ]
    return page.predict(*(json.dumps(given[name]) if name in given else "" for name in inputs), api_name="/compute")
