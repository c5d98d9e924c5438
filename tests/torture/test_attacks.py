import pytest

from tests.torture.attacks import ATTACKS, ROOT, attack


def test_every_attack_has_its_tests():
    assert all((ROOT / file).is_file() for files in ATTACKS.values() for file in files)


@pytest.mark.slow
def test_counts_what_held_what_broke_and_what_was_skipped(tmp_path):
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_holds(): pass\n"
        "def test_breaks(): assert False\n"
        "@pytest.fixture\n"
        "def broken(): raise OSError\n"
        "def test_cannot_start(broken): pass\n"
        "def test_needs_more(): pytest.skip('no bubblewrap')\n"
    )
    assert attack([str(tmp_path)]) == {"held": 1, "broke": 2, "skipped": 1}
    with pytest.raises(RuntimeError, match="no_such_test"):
        attack([str(tmp_path / "no_such_test.py"), "--no-such-flag"])
