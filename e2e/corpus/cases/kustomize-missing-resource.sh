# kind: kubernetes
# category: configuration
# decisive: rawResources failed to read Resources
mkdir -p base
printf 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: shop\ndata:\n  region: eu\n' >base/settings.yaml
printf 'resources:\n  - settings.yaml\n' >base/kustomization.yaml
good || sed -i 's/settings\.yaml/config.yaml/' base/kustomization.yaml
echo "building base"
kubectl kustomize base
