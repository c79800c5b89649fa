# kind: package
# category: dependency
# decisive: npm error ERESOLVE unable to resolve dependency tree
mkdir -p www
pack() {
  mkdir -p "source/$1-$2/package"
  echo "{ \"name\": \"$1\", \"version\": \"$2\", \"peerDependencies\": $3 }" >"source/$1-$2/package/package.json"
  tar -czf "www/$1-$2.tgz" -C "source/$1-$2" package
}
entry() { echo "\"$2\":{\"name\":\"$1\",\"version\":\"$2\",\"peerDependencies\":$3,\"dist\":{\"tarball\":\"http://127.0.0.1:4873/$1-$2.tgz\"}}"; }
pack view 18.2.0 '{}'
pack view 19.0.0 '{}'
pack charts 4.1.0 '{"view":"^18.0.0"}'
echo "{\"name\":\"view\",\"dist-tags\":{\"latest\":\"19.0.0\"},\"versions\":{$(entry view 18.2.0 '{}'),$(entry view 19.0.0 '{}')}}" >www/view
echo "{\"name\":\"charts\",\"dist-tags\":{\"latest\":\"4.1.0\"},\"versions\":{$(entry charts 4.1.0 '{"view":"^18.0.0"}')}}" >www/charts
(cd www && exec python3 -m http.server --bind 127.0.0.1 4873 >/dev/null 2>&1) &
wait_for_port 4873
version=18.2.0
good || version=19.0.0
echo "{ \"name\": \"shop\", \"version\": \"1.0.0\", \"dependencies\": { \"view\": \"$version\", \"charts\": \"4.1.0\" } }" >package.json
npm install --no-audit --no-fund --registry http://127.0.0.1:4873/
