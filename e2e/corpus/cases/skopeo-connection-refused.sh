# kind: container
# category: network
# decisive: connect: connection refused
make_image image
mkdir -p storage
printf 'version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: 127.0.0.1:5000}\n' "$PWD/storage" >registry.yml
if good; then
  docker-registry serve registry.yml >/dev/null 2>&1 &
  wait_for_port 5000
fi
skopeo copy --dest-tls-verify=false "oci:image:1" "docker://127.0.0.1:5000/shop:1"
