# kind: container
# category: dependency
# decisive: no descriptor found for reference
make_image image
tag=1
good || tag=2
echo "copying the release image"
skopeo copy "oci:image:$tag" "dir:copied"
