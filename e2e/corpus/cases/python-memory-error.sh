# kind: memory
# category: resource
# decisive: MemoryError
cat >merge.py <<'END'
import os
parts = []
for number in range(int(os.environ["PARTS"])):
    parts.append(bytearray(64 << 20))
    print("merged part", number, flush=True)
print("merged")
END
parts=3
good || parts=40
ulimit -v 800000
PARTS=$parts python3 merge.py
