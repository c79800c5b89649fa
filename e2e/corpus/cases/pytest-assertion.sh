# kind: test
# category: test
# decisive: assert 8 == 9
cat >discount.py <<'END'
def discounted(amount, percent):
    return amount - amount * percent // 100
END
good || sed -i 's/ - amount \* percent/ - 1 - amount * percent/' discount.py
cat >test_discount.py <<'END'
import pytest
from discount import discounted

def test_nothing_off():
    assert discounted(0, 10) <= 0

@pytest.mark.parametrize("amount, expected", [(10, 9)])
def test_ten_percent(amount, expected):
    assert discounted(amount, 10) == expected

def test_error_is_raised_for_text():
    with pytest.raises(TypeError):
        discounted("ten", 10)
END
python3 -m pytest -q -p no:cacheprovider -v
