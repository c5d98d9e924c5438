"""Keeping keys out of files: what the environment or an address holds is taken out of every text that is kept."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote, urlsplit

from epbench.errors import BadInput

SHORTEST_SECRET = 8
"""Characters; a shorter value of a variable such as `API_KEY` is a word like "none"."""

_PUBLIC = frozenset(["api-version"])  # parameters of an address that are known to all
_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
# What follows "://" and not the scheme before it: a search for that would begin anew at every letter of a long word.
_ADDRESS = re.compile(r"(?<=://)(?P<login>[^/?#@\s'\"]*@)?(?P<rest>[^?#\s'\"]*)(?P<query>[?#][^\s'\"]*)?")


def without_login(text: str) -> str:
    """The text with each address in it without name, password, query and fragment.

    >>> without_login("--base-url http://me:word@host:1/v1?api_key=x --out a@b")
    '--base-url http://host:1/v1 --out a@b'
    """
    return _ADDRESS.sub(lambda address: address["rest"], text)


def without_secrets(text: str, more: Iterable[str] = ()) -> str:
    """A text of foreign origin without logins and queries in addresses, and without the keys that the environment holds.

    A key is found as it is, in base64, percent-encoded, and as Python or JSON would quote it.

    Args:
        text: to be kept.
        more: further secrets, such as the password of an address.
    """
    return without_login(without_keys(text, more))


def without_keys(text: str, more: Iterable[str] = ()) -> str:
    """A text as it is, addresses included, but for the keys that the environment holds and further secrets.

    This is for what is scored, such as the answer of a model; see `without_secrets`.
    """
    for form in sorted({form for secret in (*_environment(), *more) for form in _forms(secret)}, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


def secrets_of(url: str | None) -> list[str]:
    """What an address holds that no file may: password, the login as HTTP sends it, and the values of its query."""
    parts = urlsplit(url or "")
    found = [unquote(parts.password or "")]
    if parts.password is not None:
        found.append(b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password)}".encode()).decode())
    query = [parameter.partition("=") for parameter in parts.query.split("&")]
    found += [form for name, _, value in query if name not in _PUBLIC for form in (value, unquote(value))]
    return list(dict.fromkeys(secret for secret in found if secret))


def checked_key(variable: str) -> str:
    """The key in an environment variable, without white space around it, since files of keys end in a newline.

    Raises:
        BadInput: a control character or a character beyond ASCII is in it; a header cannot carry that, and the error
            of the HTTP library would quote the key.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadInput(f"environment variable {variable}: expected printable ASCII, found another character in the key")
    return key


def _environment() -> Iterator[str]:
    for name, value in os.environ.items():
        value = value.strip()
        if len(value) >= SHORTEST_SECRET and _NAMED.search(name.upper()):
            yield value


def _forms(secret: str) -> Iterator[str]:
    """The secret as it may stand in a text."""
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    data = secret.encode("utf-8", "surrogateescape")
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
