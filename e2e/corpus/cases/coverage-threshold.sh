# kind: gate
# category: gate
# decisive: Required test coverage of 90% not reached
cat >shipping.py <<'END'
def cost(weight):
    if weight > 20:
        return 990
    if weight > 5:
        return 490
    return 290
END
cat >test_shipping.py <<'END'
from shipping import cost

def test_light():
    assert cost(1) == 290

def test_heavy():
    assert cost(6) == 490

def test_heaviest():
    assert cost(30) == 990
END
good || sed -i '/^def test_heavy/,$d' test_shipping.py
python3 -m pytest -q -p no:cacheprovider --cov=shipping --cov-fail-under=90 test_shipping.py
