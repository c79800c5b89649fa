# kind: container
# category: dependency
# decisive: get layer blob
make_image image
good || find image/blobs/sha256 -size +1k -delete
umoci --log=info unpack --rootless --image image:1 bundle
ls bundle/rootfs
