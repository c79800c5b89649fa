# kind: hang
# category: timeout
# decisive: waiting for the lock of the environment
# timeout: 25s
touch environment.lock
if ! good; then
  flock environment.lock sleep 600 &
  sleep 1
fi
echo "release 42 is ready"
echo "waiting for the lock of the environment"
flock environment.lock echo "locked"
echo "deployed"
