# kind: package
# category: dependency
# decisive: npm ci` can only install packages when your package.json and package-lock.json
mkdir -p lib/left lib/right
echo '{ "name": "left", "version": "1.0.0" }' >lib/left/package.json
echo '{ "name": "right", "version": "1.0.0" }' >lib/right/package.json
echo '{ "name": "shop", "version": "1.0.0", "dependencies": { "left": "file:lib/left" } }' >package.json
npm install --no-audit --no-fund --package-lock-only --offline
good || echo '{ "name": "shop", "version": "1.0.0", "dependencies": { "left": "file:lib/left", "right": "file:lib/right" } }' >package.json
npm ci --no-audit --no-fund --offline
