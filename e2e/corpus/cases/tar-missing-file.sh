# kind: configuration
# category: configuration
# decisive: tar: dist: Cannot stat: No such file or directory
mkdir -p public
printf 'tea\n' >public/index.html
good && cp -r public dist
echo "packing the release"
tar -czf release.tgz public dist
tar -tzf release.tgz
