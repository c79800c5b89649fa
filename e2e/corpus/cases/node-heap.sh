# kind: memory
# category: resource
# decisive: JavaScript heap out of memory
cat >bundle.js <<'END'
const modules = [];
const count = Number(process.env.MODULES);
for (let index = 0; index < count; index += 1) {
  modules.push(new Array(100_000).fill(index + 0.5));
  if (index % 16 === 0) console.log(`bundled ${index} modules`);
}
console.log("bundle written");
END
modules=20
good || modules=4000
MODULES=$modules node --max-old-space-size=64 bundle.js
