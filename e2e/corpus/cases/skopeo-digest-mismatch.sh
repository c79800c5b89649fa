# kind: container
# category: dependency
# decisive: Digest did not match
make_image image
if ! good; then
  layer=$(find image/blobs/sha256 -size +1k | sort | head -n 1)
  chmod u+w "$layer"
  printf 'x' >>"$layer"
fi
skopeo copy "oci:image:1" "dir:copied"
