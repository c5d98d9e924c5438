import base64
import sys
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epbench import BadInput
from epbench.files.json_files import read_json
from epbench.files.secrets import checked_key, secrets_of, without_login, without_secrets
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
    assert secrets_of(None) == secrets_of("http://host/v1") == []


@pytest.mark.parametrize("key", ["sk-a\nb", "sk-\x1b", "sk-é", "sk-\x7f"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_shown(monkeypatch, key):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(BadInput) as error:
        checked_key("OPENAI_API_KEY")
    assert "OPENAI_API_KEY" in str(error.value) and "sk-" not in str(error.value)


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
