"""Keys stay out of files: the secrets of the environment and of addresses are removed from every text that is kept."""

from __future__ import annotations

import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from urllib.parse import quote, unquote, urlsplit

from epbench.errors import BadInput

SHORTEST_SECRET = 8
"""In characters. A shorter value of a variable such as `API_KEY` is taken for a word like "none"."""

_PUBLIC = frozenset(["api-version"])  # parameters of an address that are no secret
_NAMED = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL")
# This matches what follows "://". A pattern that began with the scheme would be tried at every letter of a long word.
_ADDRESS = re.compile(r"(?<=://)(?P<login>[^/?#@\s'\"]*@)?(?P<rest>[^?#\s'\"]*)(?P<query>[?#][^\s'\"]*)?")


def without_login(text: str) -> str:
    """Remove name, password, query and fragment from each address in a text.

    >>> without_login("GET http://me:word@host:1/v1?api_key=x by a@b")
    'GET http://host:1/v1 by a@b'
    """
    return _ADDRESS.sub(lambda address: address["rest"], text)


def without_secrets(text: str, more: Iterable[str] = ()) -> str:
    """Remove the keys of the environment, and logins and queries of addresses, from a text of foreign origin.

    A key is found as it is, in base64, percent-encoded, and as Python or JSON would quote it.

    Args:
        text: The text.
        more: Further secrets, such as the password of an address.
    """
    return without_login(without_keys(text, more))


def without_keys(text: str, more: Iterable[str] = ()) -> str:
    """Remove the keys of the environment and further secrets from a text, and leave addresses as they are.

    Use this for texts that are scored, such as the answer of a model; see `without_secrets`.
    """
    for form in sorted({form for secret in (*_environment(), *more) for form in _forms(secret)}, key=len, reverse=True):
        text = text.replace(form, "***")
    return text


def secrets_of(url: str | None) -> list[str]:
    """The secrets of an address: its password, the login as HTTP sends it, and the values of its query."""
    parts = urlsplit(url or "")
    found = [unquote(parts.password or "")]
    if parts.password is not None:
        found.append(b64encode(f"{unquote(parts.username or '')}:{unquote(parts.password)}".encode()).decode())
    query = [parameter.partition("=") for parameter in parts.query.split("&")]
    found += [form for name, _, value in query if name not in _PUBLIC for form in (value, unquote(value))]
    return list(dict.fromkeys(secret for secret in found if secret))


def checked_key(variable: str) -> str:
    """The key in an environment variable, without the white space around it, as files of keys end in a newline.

    Raises:
        BadInput: The key holds a control character or a character beyond ASCII. A header cannot carry it, and the error
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
    """All forms in which a text may hold the secret."""
    yield secret
    yield repr(secret)[1:-1]
    yield json.dumps(secret)[1:-1]
    yield quote(secret, safe="")
    data = secret.encode("utf-8", "surrogateescape")
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
