# kind: memory
# category: resource
# decisive: Killed
cat >index.py <<'END'
import os
parts = []
for number in range(int(os.environ["PARTS"])):
    parts.append(bytearray(os.urandom(1 << 20) * 256))
    print("indexed part", number, flush=True)
END
parts=2
good || parts=40
echo "building the index"
PARTS=$parts bash -c 'python3 index.py; exit $?'
