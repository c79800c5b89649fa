# kind: hang
# category: timeout
# decisive: asking the scheduler for a slot
# timeout: 25s
if good; then
  (echo granted | nc -l -N 127.0.0.1 7000) &
else
  (sleep 600 | nc -l 127.0.0.1 7000) &
fi
sleep 1
echo "asking the scheduler for a slot"
nc 127.0.0.1 7000 </dev/null
