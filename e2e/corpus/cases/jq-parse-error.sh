# kind: configuration
# category: configuration
# decisive: parse error: Expected separator between values
cat >flags.json <<'END'
{
  "checkout": true,
  "search": false,
  "limits": { "orders": 20 }
}
END
good || sed -i 's/"search": false,/"search": false/' flags.json
echo "checking flags.json"
jq -e '.limits.orders > 0' flags.json
