# kind: network
# category: database
# decisive: Could not connect to Redis at 127.0.0.1:6379: Connection refused
if good; then
  redis-server --port 6379 --bind 127.0.0.1 --save '' --dir "$PWD" >/dev/null &
  wait_for_port 6379
fi
echo "flushing the cache"
redis-cli -e -h 127.0.0.1 -p 6379 flushall
