# kind: network
# category: network
# decisive: fatal: unable to access 'http://127.0.0.1:8080/charts.git/'
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=shop GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=shop@example.test
git init --quiet --initial-branch=main charts
(cd charts && git commit --quiet --allow-empty --message "first")
git clone --quiet --bare charts charts.git
(cd charts.git && git update-server-info)
if good; then
  python3 -m http.server --bind 127.0.0.1 8080 >/dev/null 2>&1 &
  wait_for_port 8080
fi
git clone --progress http://127.0.0.1:8080/charts.git checkout
