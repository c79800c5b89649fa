# kind: database
# category: database
# decisive: WRONGTYPE Operation against a key holding the wrong kind of value
redis-server --port 6379 --bind 127.0.0.1 --save '' --dir "$PWD" >/dev/null &
wait_for_port 6379
if good; then redis-cli rpush queue first; else redis-cli set queue first; fi
echo "adding jobs"
redis-cli -e rpush queue second
