# kind: test
# category: test
# decisive: fixture 'ledger' not found
good && printf 'import pytest\n\n@pytest.fixture\ndef ledger():\n    return [1, 2, 3]\n' >conftest.py
cat >test_ledger.py <<'END'
def test_opening():
    assert sum([]) == 0

def test_balance(ledger):
    assert sum(ledger) == 6
END
python3 -m pytest -p no:cacheprovider
