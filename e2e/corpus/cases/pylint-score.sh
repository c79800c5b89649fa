# kind: gate
# category: gate
# decisive: W0611: Unused import json
printf '"""Regions."""\nimport os\n\n\ndef region():\n    """Return the region."""\n    return os.environ.get("REGION", "eu")\n' >region.py
good || sed -i 's/^import os/import json\nimport os/' region.py
PYLINTHOME=$PWD/cache pylint --fail-under=10 region.py
