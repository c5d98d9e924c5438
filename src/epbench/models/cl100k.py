"""Tokens of a text in the encoding in which papers state the lengths of their books and rows."""

from __future__ import annotations

from collections.abc import Callable

from epbench.errors import BadInput

CL100K = "cl100k_base"


def cl100k_tokens() -> Callable[[str], int]:
    """Return a function that counts the tokens of a text in the encoding cl100k_base.

    Raises:
        BadInput: tiktoken is not installed, or its encoding is neither cached nor available for download.
    """
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(CL100K)
    except Exception as error:  # an ImportError, or anything that a download can raise
        raise BadInput(
            f"the encoding cl100k_base is not available ({type(error).__name__}): install tiktoken, and without a "
            "network set TIKTOKEN_CACHE_DIR to a folder that holds the encoding"
        ) from None
    return lambda text: len(encoding.encode(text, disallowed_special=()))
