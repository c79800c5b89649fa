# kind: network
# category: network
# decisive: The requested URL returned error: 503
mkdir -p temp www
echo '{"status":"ok"}' >www/ready
upstream='root www;'
good || upstream='return 503;'
cat >nginx.conf <<END
pid $PWD/nginx.pid;
error_log stderr error;
daemon off;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $PWD/temp; proxy_temp_path $PWD/temp; fastcgi_temp_path $PWD/temp; uwsgi_temp_path $PWD/temp; scgi_temp_path $PWD/temp;
  server { listen 127.0.0.1:8080; location / { $upstream } }
}
END
/usr/sbin/nginx -p "$PWD" -c "$PWD/nginx.conf" -e stderr &
wait_for_port 8080
echo "waiting for readiness"
curl --silent --show-error --fail http://127.0.0.1:8080/ready
