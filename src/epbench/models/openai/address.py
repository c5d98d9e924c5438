"""Where an OpenAI-compatible endpoint is and how it is reached: address, key, and what of both no file may hold."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from epbench.errors import BadInput
from epbench.runs.secrets import checked_key, secrets_of

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Address:
    """An endpoint.

    Attributes:
        url: without query and fragment; a login in it is sent with every request.
        query: what stood behind the `?` of the URL; it is sent with every request.
        key: sent as the bearer token; "none" where the endpoint needs no key, because the client insists on one.
        secrets: what may stand in no file: the key, the password and the login of the URL, the values of the query.
    """

    url: str
    query: Mapping[str, str] = field(repr=False)
    key: str = field(repr=False)
    secrets: tuple[str, ...] = field(repr=False)

    @property
    def client_options(self) -> dict[str, Any]:
        """What the clients of the package openai are made with.

        No redirect is followed: it would carry the prompt to a host that nobody named, and a loop of redirects would
        multiply every request. Tries and deadlines are left to the caller.
        """
        return {"base_url": self.url, "api_key": self.key, "default_query": dict(self.query)}


def find_address(base_url: str | None, who: str) -> Address:
    """The endpoint at a base URL, with the key of the environment.

    Args:
        base_url: up to `/v1`; None for the environment variable OPENAI_BASE_URL, else OpenAI itself.
        who: whom messages name, such as `openai:gpt-4o-mini`.

    Raises:
        BadInput: the URL is none, the key is missing or cannot be sent, or the package openai is not installed.
    """
    given = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if given and not _is_http(given):
        raise BadInput(
            f"base URL {shown(given)!r}: http:// or https:// and a host are expected, such as http://127.0.0.1:8000/v1"
        )
    key = checked_key("OPENAI_API_KEY")
    if not key and not given:
        raise BadInput(f"{who}: set OPENAI_API_KEY, or give the base URL of an endpoint that needs no key")
    if find_spec("openai") is None:
        raise BadInput(f"{who} needs the package openai: pip install 'epbench[models]'")
    parts = urlsplit(given or OPENAI)
    query = dict(parse_qsl(parts.query, keep_blank_values=True))
    url = parts._replace(query="", fragment="").geturl()
    return Address(url, query, key or "none", tuple(filter(None, (key, *secrets_of(given)))))


def shown(url: str) -> str:
    """A URL, however badly written, without login, query and fragment.

    >>> [shown(url) for url in ("http://me:word@host/v1?api_key=x", "me:word@host/v1#x", "/other?key=x")]
    ['http://host/v1', 'host/v1', '/other']
    """
    scheme, mark, rest = re.split(r"[?#]", url, maxsplit=1)[0].rpartition("://")
    return f"{scheme}{mark}{rest.rpartition('@')[2]}"


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, half a bracket
        return False
