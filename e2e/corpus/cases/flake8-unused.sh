# kind: gate
# category: gate
# decisive: F401 'json' imported but unused
printf 'import os\n\n\ndef region():\n    return os.environ.get("REGION", "eu")\n' >region.py
good || sed -i 's/^import os/import json\nimport os/' region.py
flake8 --version
flake8 --statistics region.py
