# kind: kubernetes
# category: configuration
# decisive: error converting YAML to JSON
printf 'apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: shop\nspec:\n  template:\n    spec:\n      containers:\n        - name: shop\n          image: shop:1\n' >deployment.yaml
good || sed -i 's/^          image: shop:1/         image: shop:1/' deployment.yaml
echo "setting the image"
kubectl set image --local -f deployment.yaml shop=shop:2 -o yaml
