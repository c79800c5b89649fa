# kind: package
# category: dependency
# decisive: THESE PACKAGES DO NOT MATCH THE HASHES
mkdir -p source/tealeaf wheels
touch source/tealeaf/__init__.py
printf 'from setuptools import setup\nsetup(name="tealeaf", version="2.1", packages=["tealeaf"])\n' >source/setup.py
(cd source && SOURCE_DATE_EPOCH=1700000000 python3 setup.py --quiet bdist_wheel --dist-dir ../wheels)
hash=$(sha256sum wheels/*.whl | cut -d' ' -f1)
good || hash=$(echo "another file" | sha256sum | cut -d' ' -f1)
echo "tealeaf==2.1 --hash=sha256:$hash" >requirements.txt
pip3 install --break-system-packages --no-cache-dir --no-index --find-links wheels --target site -r requirements.txt
