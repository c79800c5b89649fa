# kind: package
# category: dependency
# decisive: ERROR: No matching distribution found for tealeaf==2.1
mkdir -p source/tealeaf wheels
touch source/tealeaf/__init__.py
cat >source/setup.py <<'END'
from setuptools import setup
setup(name="tealeaf", version="2.1", packages=["tealeaf"])
END
good || sed -i 's/2\.1/2.0/' source/setup.py
(cd source && python3 setup.py --quiet bdist_wheel --dist-dir ../wheels)
echo "tealeaf==2.1" >requirements.txt
pip3 install --break-system-packages --no-cache-dir --no-index --find-links wheels --target site -r requirements.txt
