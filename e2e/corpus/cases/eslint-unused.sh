# kind: gate
# category: gate
# decisive: no-unused-vars
cat >eslint.config.js <<'END'
module.exports = [{ languageOptions: { sourceType: "commonjs" }, rules: { "no-unused-vars": "error", "no-undef": "error", "no-console": "off" } }];
END
printf 'const limit = 20;\nmodule.exports = (count) => count <= limit;\n' >limit.js
good || sed -i 's/^const limit = 20;/const limit = 20;\nconst spare = 3;/' limit.js
eslint --no-color limit.js eslint.config.js
echo "no problems"
