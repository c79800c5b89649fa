# kind: package
# category: dependency
# decisive: npm error 404 File not found - GET
mkdir -p left/package www
echo '{ "name": "left", "version": "1.0.0" }' >left/package/package.json
tar -czf www/left-1.0.0.tgz -C left package
package=left
good || package=left-pad-next
echo '{"name":"left","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"left","version":"1.0.0","dist":{"tarball":"http://127.0.0.1:4873/left-1.0.0.tgz"}}}}' >www/left
(cd www && exec python3 -m http.server --bind 127.0.0.1 4873 >/dev/null 2>&1) &
wait_for_port 4873
echo "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"dependencies\": { \"$package\": \"1.0.0\" } }" >package.json
npm install --no-audit --no-fund --registry http://127.0.0.1:4873/
