# kind: tls
# category: network
# decisive: SSL certificate problem: self-signed certificate
make_authority
make_certificate localhost 20991231235959Z
good || openssl req -x509 -newkey rsa:2048 -nodes -keyout server.key -out server.pem -subj /CN=localhost -addext subjectAltName=DNS:localhost -days 30 2>/dev/null
openssl s_server -quiet -accept 8443 -cert server.pem -key server.key -WWW >/dev/null 2>&1 &
wait_for_port 8443
echo "ok" >ready
curl --silent --show-error --cacert authority.pem https://localhost:8443/ready
