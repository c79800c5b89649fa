# kind: tls
# category: network
# decisive: certificate is not valid for
make_authority
name=localhost
good || name=shop.example.test
make_certificate "$name" 20991231235959Z
openssl s_server -quiet -accept 8443 -cert server.pem -key server.key -WWW >/dev/null 2>&1 &
wait_for_port 8443
echo "ok" >ready
cat >check.py <<'END'
import ssl, urllib.request
print("checking https://localhost:8443/ready")
context = ssl.create_default_context(cafile="authority.pem")
print(urllib.request.urlopen("https://localhost:8443/ready", context=context, timeout=5).read().decode())
END
python3 check.py
