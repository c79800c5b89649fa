# kind: configuration
# category: configuration
# decisive: unknown flag: --retries
make_image image
flags="--retry-times 2"
good || flags="--retries 2"
# shellcheck disable=SC2086
skopeo copy $flags "oci:image:1" "dir:copied"
