# kind: network
# category: network
# decisive: curl: (7) Failed to connect to 127.0.0.1 port 8080
echo ok >health
if good; then
  python3 -m http.server --bind 127.0.0.1 8080 >/dev/null 2>&1 &
  wait_for_port 8080
fi
echo "checking the health of the release"
curl --silent --show-error --fail http://127.0.0.1:8080/health
