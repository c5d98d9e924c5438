from tests.torture.attacks import ATTACKS, ROOT


def test_every_attack_has_its_tests():
    assert all((ROOT / file).is_file() for files in ATTACKS.values() for file in files)
