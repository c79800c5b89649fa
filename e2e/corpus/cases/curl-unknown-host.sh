# kind: network
# category: network
# decisive: curl: (6) Could not resolve host: orders.shop.invalid
echo ok >health
python3 -m http.server --bind 127.0.0.1 8080 >/dev/null 2>&1 &
wait_for_port 8080
host=localhost
good || host=orders.shop.invalid
echo "notifying the order service"
curl --silent --show-error --fail --ipv4 "http://$host:8080/health"
