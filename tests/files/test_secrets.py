import base64
import html
import json
import sys
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench.files.json_files import read_json, write_json
from epbench.files.secrets import checked_key, keep_secret, secrets_of, without_keys, without_login, without_secrets
from epbench.files.writing import write_text
from epbench.journals.journal import Journal
from epbench.reports.page import page
from epbench.runs.folder import open_run

KEY = 'sk-very+secret/1"2'


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("--base-url http://me:secret@host:1/v1 --out a@b", "--base-url http://host:1/v1 --out a@b"),
        ("http://host/v1?api_key=X", "http://host/v1"),
        ("see 'https://host/v1?api_key=X&a=b#frag' there", "see 'https://host/v1' there"),
        ("ws://token@host", "ws://host"),
        ("is it a?b or c#d, e@f", "is it a?b or c#d, e@f"),
    ],
)
def test_addresses_lose_login_and_query(text, kept):
    assert without_login(text) == kept


@pytest.mark.parametrize(
    "form",
    [
        lambda key: key,
        repr,
        lambda key: repr({"Authorization": f"Bearer {key}"}),
        lambda key: quote(key, safe=""),
        lambda key: base64.b64encode(key.encode()).decode(),
        lambda key: base64.urlsafe_b64encode(key.encode()).decode().rstrip("="),
    ],
)
def test_a_key_of_the_environment_is_found_in_every_form(monkeypatch, form):
    monkeypatch.setenv("SOME_API_KEY", KEY + "\n")
    text = without_secrets(f"refused: {form(KEY)}!")
    assert "***" in text and KEY not in text and "secret" not in text and form(KEY) not in text


def test_what_an_address_holds_is_secret():
    url = "http://me:pass%20word@host/v1?api_key=abc123&x"
    assert secrets_of(url) == ["pass word", base64.b64encode(b"me:pass word").decode(), "abc123"]
    assert without_secrets("got pass word and abc123", secrets_of(url)) == "got *** and ***"
    assert secrets_of(None) == secrets_of("http://host/v1") == secrets_of("http://me@host/v1") == []
    assert secrets_of("http://ghp_token1@host/v1") == ["ghp_token1", base64.b64encode(b"ghp_token1:").decode()]


def test_white_space_around_a_key_does_not_matter(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", " sk-1 \n")
    assert checked_key("OPENAI_API_KEY") == "sk-1"


def test_the_command_in_a_run_folder_has_no_key(tmp_path, monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "abcdefgh1")
    monkeypatch.setattr(sys, "argv", ["x.py", "--base-url", "https://u:p@h/v1?key=Z", "--note", "abcdefgh1"])
    with open_run(tmp_path / "r", {}, {}):
        pass
    assert read_json(tmp_path / "r/run.json")["command"] == "python x.py --base-url https://h/v1 --note '***'"


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60))
def test_a_text_without_addresses_and_secrets_stays_as_it_is(text):
    if "://" not in text:
        assert without_login(text) == text


@pytest.mark.parametrize("text", ["x" * 2_000_000, "://" * 500_000, "a@" * 500_000, "x://" + "y" * 2_000_000])
def test_a_long_line_costs_no_more_than_its_length(text):
    """A search that begins anew at every character would take hours."""
    assert len(without_secrets(text)) >= 1_000_000


def test_the_value_of_a_variable_named_like_a_secret_is_removed_and_no_other(monkeypatch, tmp_path):
    for variable in "GITHUB_PAT DB_PASS SESSION_COOKIE SENTRY_DSN DB_PWD AUTH HTTP_AUTH_HEADER HF_TOKEN".split():
        with monkeypatch.context() as patch:
            patch.setenv(variable, "w0rd-of-mine")
            assert without_keys("it is w0rd-of-mine.") == "it is ***."
    for variable in ("PWD", "OLDPWD", "COMPASS", "AUTHOR", "PATTERN"):
        monkeypatch.setenv(variable, "/no/such/folder-9")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(tmp_path))  # the path of a file
    assert without_keys(f"in /no/such/folder-9 or {tmp_path}") == f"in /no/such/folder-9 or {tmp_path}"


def test_logins_in_addresses_of_the_environment_are_secret(monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", "http://me:pass-w0rd@proxy:3128")
    monkeypatch.setenv("SOME_PAGE", "http://[::1?a@b")  # not an address
    assert without_keys("pass-w0rd at proxy:3128") == "*** at proxy:3128"


def test_every_journal_json_file_and_page_is_written_without_secrets(monkeypatch, tmp_path):
    monkeypatch.setenv("GITHUB_PAT", KEY)
    keep_secret("http://token-of-9-letters@host/v1")
    quoting = f"I was given {KEY} and token-of-9-letters"
    journal = Journal(tmp_path / "answers.jsonl")
    journal.add("k", id="q1", answer=quoting, memories=[quoting], usage={"prompt": 1, KEY: 2})
    journal.close()
    write_json(tmp_path / "memories.json", {"store": [quoting]})
    write_text(tmp_path / "report.html", page("A run", f"<p>{html.escape(quoting)}</p>"))
    hidden = "I was given *** and ***"
    assert read_json(tmp_path / "memories.json") == {"store": [hidden]}
    assert journal.records["k"] == {
        "key": "k", "id": "q1", "answer": hidden, "memories": [hidden], "usage": {"prompt": 1, "***": 2}
    }  # fmt: skip
    assert json.loads((tmp_path / "answers.jsonl").read_text()) == journal.records["k"]
    assert f"<p>{hidden}</p>" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("word", ["1", "none", "reasoning", "explorer", "question"])
def test_a_secret_that_is_a_word_breaks_no_file(monkeypatch, tmp_path, word):
    monkeypatch.setenv("API_KEY", word)
    journal = Journal(tmp_path / "answers.jsonl")
    journal.add(word, id=word, answer="1, none", reasoning="a", **{word: "b"} if word != "reasoning" else {})
    assert list(journal.records[word])[:3] == ["key", "id", "answer"] and journal.records[word]["id"] == word
    assert journal.records[word]["answer"] == "1, none"
    write_text(tmp_path / "page.html", '<section class="explorer" data-question="1">')
    assert (tmp_path / "page.html").read_text() == '<section class="explorer" data-question="1">'


def test_a_run_whose_address_has_a_key_in_its_path_resumes(monkeypatch, tmp_path):
    monkeypatch.setenv("GATEWAY_KEY", "key-in-a-path-1")
    identity = {"base_url": "https://host/key-in-a-path-1/v1"}
    for _ in range(2):
        with open_run(tmp_path / "run", identity, {}):
            pass
    assert read_json(tmp_path / "run/run.json")["identity"] == {"base_url": "https://host/***/v1"}
