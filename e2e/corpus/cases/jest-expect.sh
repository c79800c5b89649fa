# kind: test
# category: test
# decisive: expect(received).toEqual(expected)
echo '{ "name": "basket", "version": "1.0.0", "jest": { "cache": false } }' >package.json
echo 'exports.merge = (lines) => [...new Map(lines.map((line) => [line.id, line])).values()];' >basket.js
good || sed -i 's/line\.id, line/line.name, line/' basket.js
cat >basket.test.js <<'END'
const { merge } = require("./basket");
test("an empty basket stays empty", () => expect(merge([])).toEqual([]));
test("lines with the same id are merged", () => {
  const lines = [{ id: 1, name: "tea" }, { id: 1, name: "green tea" }];
  expect(merge(lines)).toEqual([{ id: 1, name: "green tea" }]);
});
END
jest --ci --watchman=false --colors=false 2>&1
