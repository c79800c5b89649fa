# kind: gate
# category: gate
# decisive: wrong indentation: expected 2 but found 3
printf -- '---\nservices:\n  web:\n    port: 8080\n' >services.yaml
good || sed -i 's/^  web:/   web:/; s/^    port/      port/' services.yaml
echo "linting services.yaml"
yamllint --strict -d '{extends: default, rules: {indentation: {spaces: 2}}}' services.yaml
