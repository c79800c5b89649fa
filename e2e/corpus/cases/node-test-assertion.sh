# kind: test
# category: test
# decisive: Expected values to be strictly equal
cat >slug.js <<'END'
module.exports = (title) => title.trim().toLowerCase().replace(/\s+/g, "-");
END
good || sed -i 's/\.trim()//' slug.js
cat >slug.test.js <<'END'
const test = require("node:test");
const assert = require("node:assert");
const slug = require("./slug.js");
test("words are joined", () => assert.strictEqual(slug("Green Tea"), "green-tea"));
test("blanks around are dropped", () => assert.strictEqual(slug(" Tea "), "tea"));
test("an error title is kept", () => assert.strictEqual(slug("Error"), "error"));
END
node --test
