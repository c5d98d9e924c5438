"""Downloads of the books, from a server on loopback."""

import hashlib
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pooch.core
import pytest

from epbench.booksort.texts import books
from epbench.booksort.texts.books import Published, check_published, content_hash, download, published_books, read_text
from epbench.booksort.texts.cleaning import Rules
from epbench.errors import BadInput, RunFailed

TEXT = "He went out. She stayed in.\n\nThat was all."
FILE = f"*** START OF THE PROJECT GUTENBERG EBOOK X ***\r\n\r\n{TEXT}\r\n\r\n*** END OF THE PROJECT GUTENBERG EBOOK X ***\r\n"
BOOK = Published(7, "A Book", "Nobody", 9, content_hash(TEXT), Rules())


@contextmanager
def served(*answers):
    """A server that gives these answers in turn, the last one again and again: (status, body, announced length)."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            status, body, length = answers[min(len(asked), len(answers)) - 1]
            self.send_response(status)
            self.send_header("Content-Length", str(length or len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", asked
        server.shutdown()


GOOD = (200, FILE.encode("utf-8-sig"), None)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("EPBENCH_CACHE", str(tmp_path))
    monkeypatch.setattr(pooch.core.time, "sleep", lambda _: None)
    return tmp_path / "gutenberg"


def test_a_book_is_downloaded_once_and_kept_unless_it_is_spoilt(cache):
    with served(GOOD) as (url, asked):
        path = download(BOOK, url + "/")
        assert download(BOOK, url) == path
        assert asked == ["/cache/epub/7/pg7.txt"] and path.parent == cache and path.read_bytes() == GOOD[1]
        path.write_text("spoilt")
        assert download(BOOK, url).read_bytes() == GOOD[1]


def test_a_fault_of_the_network_is_tried_again():
    cut_off = (200, GOOD[1][:60], len(GOOD[1]))
    with served((503, b"busy", None), cut_off, (200, GOOD[1][:60], None), GOOD) as (url, asked):
        assert download(BOOK, url).read_bytes() == GOOD[1]
    assert len(asked) == 4


def test_a_truncated_download_is_one_line(cache):
    message = r"/pg7\.txt: expected the START and END lines .* 'A Book' is truncated .*download it again"
    with served((200, GOOD[1][:60], None)) as (url, asked), pytest.raises(BadInput, match=message):
        download(BOOK, url)
    assert len(asked) == 4 and not list(cache.glob("*"))


def test_a_server_that_refuses_or_is_not_there_is_a_failed_run():
    message = r"pg7\.txt could not be downloaded \(HTTPError\).*a folder of the nine files"
    with served((404, b"", None)) as (url, asked), pytest.raises(RunFailed, match=message):
        download(BOOK, url)
    assert len(asked) == 4
    with pytest.raises(RunFailed, match="could not be downloaded"):
        download(BOOK, "http://127.0.0.1:1")


def test_what_project_gutenberg_writes_around_a_book_may_change():
    raw = FILE.replace("\r\n", "\n")
    check_published(f"The Project Gutenberg eBook of X\n\n{raw}\nProject Gutenberg’s licence", BOOK, "x")
    check_published(raw.replace("in.", "in.  ").strip(), BOOK, "x")
    for changed in (raw.replace("in.", "out."), f"{raw}One more line.", raw.replace("That", "\nThat")):
        with pytest.raises(BadInput, match="changed"):
            check_published(changed, BOOK, "x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("Café au lait.".encode("latin-1"), "expected UTF-8, got byte 0xe9 at offset 3"),
        ("Café.".encode("utf-16"), "expected UTF-8, got byte 0xff at offset 0"),
        ("Cafe.".encode("utf-16-le"), "expected text in UTF-8, got byte 0x00 at offset 1"),
    ],
)
def test_another_encoding_is_refused_with_byte_and_offset(tmp_path, content, message):
    (tmp_path / "a.txt").write_bytes("Café.\r\nEnd.\r".encode("utf-8-sig"))
    assert read_text(tmp_path / "a.txt") == "Café.\nEnd.\n"
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(BadInput, match=f"a.txt: {message}"):
        read_text(tmp_path / "a.txt")


def test_the_table_has_the_nine_books_of_the_paper():
    books = published_books()
    assert len(books) == 9 and list(books) == sorted(books)
    assert sum(book.words for book in books.values()) == 654_305  # Table 3: 72,700 on average
    assert all(len(bytes.fromhex(book.sha256)) == hashlib.sha256().digest_size for book in books.values())


def test_a_download_that_is_far_too_large_is_refused(cache, monkeypatch):
    monkeypatch.setattr(books, "_MOST_BYTES", 100_000)
    with served((200, b"x" * 1_000_000, None)) as (url, _), pytest.raises(BadInput, match=r"of at most 0\.1 MB"):
        download(BOOK, url)
    assert not list(cache.glob("*"))
