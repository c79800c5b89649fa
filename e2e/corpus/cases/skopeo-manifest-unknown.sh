# kind: container
# category: dependency
# decisive: manifest unknown
make_image image
mkdir -p storage
printf 'version: 0.1\nlog: {level: error, accesslog: {disabled: true}}\nstorage: {filesystem: {rootdirectory: %s}}\nhttp: {addr: 127.0.0.1:5000}\n' "$PWD/storage" >registry.yml
docker-registry serve registry.yml >/dev/null 2>&1 &
wait_for_port 5000
skopeo copy --dest-tls-verify=false "oci:image:1" "docker://127.0.0.1:5000/shop:1"
tag=1
good || tag=2
echo "pulling shop:$tag"
skopeo copy --src-tls-verify=false "docker://127.0.0.1:5000/shop:$tag" "dir:pulled"
