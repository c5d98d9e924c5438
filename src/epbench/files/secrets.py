"""Keep keys out of files: remove the secrets that this process knows from every text that is written.

`Journal.add`, `write_text` and `write_json` call this module, so whatever goes through them needs no call of its own.
"""

from __future__ import annotations

import html
import json
import os
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from epbench.errors import BadInput

SHORTEST_SECRET = 8  # characters; a shorter value of a variable such as `API_KEY` is taken for a word like "none"

_PUBLIC = frozenset(["api-version"])  # parameters of an address that are no secret
_NAMED = re.compile(
    r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL|(?:^|_)(?:AUTH|PASS|PAT|COOKIES?|DSN|PWD)(?:_|$)"
)
_FOLDER = "PWD"  # the shell's own variable, which matches the pattern and holds the working folder
_FIELD = re.compile(r"[a-z_]+")  # a field name of our own files
_addresses: set[str] = set()  # secrets in the addresses that this process was given
# This matches what follows "://". A pattern that began with the scheme would be tried at every letter of a long word.
_ADDRESS = re.compile(r"(?<=://)(?P<login>[^/?#@\s'\"]*@)?(?P<rest>[^?#\s'\"]*)(?P<query>[?#][^\s'\"]*)?")


def without_login(text: str) -> str:
    """Remove name, password, query and fragment from each address in a text."""
    return _ADDRESS.sub(lambda address: address["rest"], text)


def without_secrets(text: str, more: Iterable[str] = ()) -> str:
    """Remove the keys of the environment, and logins and queries of addresses, from a text of foreign origin.

    A key is found as it is, in base64, percent-encoded, and as Python or JSON would quote it. `more` are further secrets, such as
    the password of an address.
    """
    return without_login(without_keys(text, more))


def without_keys(text: str, more: Iterable[str] = (), *, markup: bool = False) -> str:
    """Remove the keys of the environment and further secrets from a text, and leave addresses as they are.

    Use this for texts that are scored, such as the answer of a model; see `without_secrets`. In `markup`, a whole page or table,
    secrets made of letters alone stay, because they might be part of it; the values in a page come from files without them.
    """
    pattern = _pattern((*_long_enough([*_addresses, *_of_environment()]), *more), markup)
    return pattern.sub("***", text) if pattern else text


def scrubbed(value: Any) -> Any:
    """Remove the keys of the environment from every text in a JSON value but names of fields that are lower-case words."""
    return scrubber()(value)


def scrubber() -> Callable[[Any], Any]:
    """Return `scrubbed` for many values, with the environment as it is now, and whatever addresses `keep_secret` is given."""
    environment = tuple(_of_environment())

    def scrub(value: Any) -> Any:
        pattern = _pattern(_long_enough([*_addresses, *environment]), False)
        return value if pattern is None else _scrubbed(value, pattern)

    return scrub


def keep_secret(url: str | None) -> None:
    """Treat the secrets of an address as keys of the environment for as long as this process runs."""
    _addresses.update(secrets_of(url))


def secrets_of(url: str | None) -> list[str]:
    """The secrets of an address: its password, the login as HTTP sends it, and the values of its query.

    A user name of at least `SHORTEST_SECRET` characters is a secret where the password is missing or shorter than that.
    """
    parts = urlsplit(url or "")
    query = [parameter.partition("=") for parameter in parts.query.split("&")]
    forms = [form for name, _, value in query if name not in _PUBLIC for form in (value, unquote(value))]
    return list(dict.fromkeys(secret for secret in (*_login(url), *forms) if secret))


def _login(url: str | None) -> Iterator[str]:
    """The secrets before the `@` of an address."""
    parts = urlsplit(url or "")
    if parts.username is None and parts.password is None:
        return
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    yield password
    if len(password) < SHORTEST_SECRET <= len(user):
        yield user
    if password or len(user) >= SHORTEST_SECRET:
        yield b64encode(f"{user}:{password}".encode()).decode()


def checked_key(variable: str) -> str:
    """The key in an environment variable, without the white space around it, as files of keys end in a newline.

    BadInput if the key holds a control character or a character beyond ASCII. A header cannot carry it, and the error
    of the HTTP library would quote the key.
    """
    key = os.environ.get(variable, "").strip()
    if not key.isascii() or not key.isprintable():
        raise BadInput(f"environment variable {variable}: expected printable ASCII, found another character in the key")
    return key


def _of_environment() -> Iterator[str]:
    for name, value in os.environ.items():
        if _is_named(name):
            yield value.strip()
        if "@" in value and "://" in value:
            yield from _logins(value)


def _long_enough(secrets: Iterable[str]) -> tuple[str, ...]:
    return tuple(secret for secret in secrets if len(secret) >= SHORTEST_SECRET)


@lru_cache(maxsize=10_000)
def _is_named(variable: str) -> bool:
    return variable != _FOLDER and _NAMED.search(variable.upper()) is not None


@lru_cache(maxsize=64)
def _logins(value: str) -> tuple[str, ...]:
    try:
        return tuple(_login(value.strip()))
    except ValueError:  # not a valid address
        return ()


@lru_cache(maxsize=64)
def _pattern(secrets: tuple[str, ...], markup: bool) -> re.Pattern[str] | None:
    """One pattern for all forms of these secrets, the longest first; None without secrets."""
    kept = {secret for secret in secrets if secret and not (markup and secret.isalpha()) and not _is_path(secret)}
    forms = sorted({form for secret in kept for form in _forms(secret)}, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, forms))) if forms else None


def _is_path(value: str) -> bool:
    """Whether a value names a file, as that of SSH_AUTH_SOCK or of a variable for a file of credentials does."""
    return os.path.isabs(value) and os.path.exists(value)  # noqa: PTH110, PTH117  # a Path refuses a long value


def _scrubbed(value: Any, pattern: re.Pattern[str]) -> Any:
    if isinstance(value, str):
        return pattern.sub("***", value)
    if isinstance(value, dict):
        names = {name: isinstance(name, str) and not _FIELD.fullmatch(name) for name in value}
        return {_scrubbed(k, pattern) if names[k] else k: _scrubbed(item, pattern) for k, item in value.items()}
    return [_scrubbed(item, pattern) for item in value] if isinstance(value, list | tuple) else value


def _forms(secret: str) -> Iterator[str]:
    """All forms in which a text may hold the secret."""
    yield secret
    yield repr(secret)[1:-1]
    yield html.escape(secret)
    for ascii_only in (True, False):
        yield json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
    yield quote(secret, safe="")
    data = secret.encode("utf-8", "surrogateescape")
    for encode in (b64encode, urlsafe_b64encode):
        whole = encode(data).decode()
        yield whole
        yield whole.rstrip("=")
