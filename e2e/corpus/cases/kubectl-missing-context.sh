# kind: kubernetes
# category: configuration
# decisive: no context exists with the name: "production"
kubectl config set-cluster main --server=https://127.0.0.1:6443
kubectl config set-context staging --cluster=main
good && kubectl config set-context production --cluster=main
kubectl config use-context production
