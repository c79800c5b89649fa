# kind: test
# category: test
# decisive: ZeroDivisionError: division by zero
cat >average.py <<'END'
def average(values):
    if not values:
        return 0
    return sum(values) / len(values)
END
good || sed -i '/if not values/,+1d' average.py
cat >test_average.py <<'END'
import unittest
from average import average

class AverageTest(unittest.TestCase):
    def test_one(self):
        self.assertEqual(average([3]), 3)

    def test_none(self):
        self.assertEqual(average([]), 0)

    def test_errors_are_counted(self):
        self.assertEqual(average([0, 0]), 0)
END
python3 -m unittest -v
