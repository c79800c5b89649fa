# kind: disk
# category: resource
# decisive: OSError: [Errno 28] No space left on device
cat >export.py <<'END'
import os
count = int(os.environ["ROWS"])
with open("/dev/shm/export.csv", "w") as file:
    for part in range(count):
        if part % 50 == 0:
            print("rows", part * 1000, flush=True)
        file.write("0123456789abcdef,tea,350\n" * 10000)
print("exported")
END
rows=100
good || rows=2000
ROWS=$rows python3 export.py
