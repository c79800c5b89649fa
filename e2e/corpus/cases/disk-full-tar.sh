# kind: disk
# category: resource
# decisive: Cannot write: No space left on device
mkdir -p data
size=1M
good || size=300M
head -c $size /dev/zero >data/archive.bin
echo "backing up"
tar -cf /dev/shm/backup.tar data
ls /dev/shm
