# kind: network
# category: network
# decisive: curl: (28)
cat >slow.py <<'END'
import http.server, os, time
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(float(os.environ["DELAY"]))
        self.send_response(200); self.send_header("Content-Length", "3"); self.end_headers(); self.wfile.write(b"ok\n")
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 8080), Handler).serve_forever()
END
delay=0
good || delay=30
DELAY=$delay python3 slow.py &
wait_for_port 8080
echo "warming the cache"
curl --silent --show-error --fail --max-time 3 http://127.0.0.1:8080/warm
