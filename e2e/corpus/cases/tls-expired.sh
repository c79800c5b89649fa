# kind: tls
# category: network
# decisive: certificate has expired
end=20991231235959Z
good || end=20240201000000Z
make_authority
make_certificate localhost "$end"
openssl s_server -quiet -accept 8443 -cert server.pem -key server.key -WWW >/dev/null 2>&1 &
wait_for_port 8443
echo "ok" >ready
curl --silent --show-error --cacert authority.pem https://localhost:8443/ready
