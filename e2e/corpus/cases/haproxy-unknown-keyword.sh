# kind: configuration
# category: configuration
# decisive: unknown keyword 'balanced' in 'backend' section
cat >haproxy.cfg <<'END'
defaults
    mode http
    timeout connect 5s
    timeout client 30s
    timeout server 30s
frontend web
    bind 127.0.0.1:8080
    default_backend shop
backend shop
    balance roundrobin
    server one 127.0.0.1:9001 check
END
good || sed -i 's/balance roundrobin/balanced roundrobin/' haproxy.cfg
/usr/sbin/haproxy -c -V -f haproxy.cfg
