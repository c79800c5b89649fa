# kind: disk
# category: resource
# decisive: No space left on device
megabytes=8
good || megabytes=400
echo "writing the image of the data disk"
dd if=/dev/zero of=/dev/shm/data.img bs=1M count=$megabytes
