# kind: gate
# category: gate
# decisive: +ORDERS_LIMIT = 20
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=shop GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=shop@example.test
git init --quiet --initial-branch=main .
echo '{ "orders_limit": 20, "search_limit": 50 }' >limits.json
generate() { jq -r 'to_entries[] | "\(.key | ascii_upcase) = \(.value)"' limits.json >limits.py; }
generate
good || sed -i '/ORDERS/d' limits.py
git add --all
git commit --quiet --message "first"
echo "generating limits.py"
generate
git diff --exit-code --stat --patch
