# kind: configuration
# category: configuration
# decisive: cannot create regular file '/tmp/work/etc/shop.conf': Permission denied
mkdir -p etc
good || chmod 0555 etc
echo "port=8080" >shop.conf
echo "installing to the target folder"
install -m 0644 -v shop.conf "$PWD/etc/shop.conf"
