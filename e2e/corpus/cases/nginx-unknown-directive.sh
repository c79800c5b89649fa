# kind: configuration
# category: configuration
# decisive: unknown directive "proxy_passs"
mkdir -p logs temp
cat >nginx.conf <<END
pid $PWD/nginx.pid;
error_log stderr notice;
events { worker_connections 64; }
http {
  access_log off;
  client_body_temp_path $PWD/temp; proxy_temp_path $PWD/temp; fastcgi_temp_path $PWD/temp; uwsgi_temp_path $PWD/temp; scgi_temp_path $PWD/temp;
  server { listen 8080; location / { proxy_pass http://127.0.0.1:9000; } }
}
END
good || sed -i 's/proxy_pass /proxy_passs /' nginx.conf
/usr/sbin/nginx -t -c "$PWD/nginx.conf" -e stderr
