# kind: gate
# category: compile
# decisive: error: Incompatible return value type
printf 'def cents(text: str) -> int:\n    return int(text) * 100\n' >money.py
good || sed -i 's/return int(text) \* 100/return text/' money.py
mypy --cache-dir "$PWD/cache" --strict money.py
