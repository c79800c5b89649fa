# kind: kubernetes
# category: network
# decisive: The connection to the server 127.0.0.1:6443 was refused
kubectl config set-cluster staging --server=http://127.0.0.1:6443
kubectl config set-context staging --cluster=staging
kubectl config use-context staging
if good; then (exec python3 -c '
import http.server, json
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"major": "1", "minor": "20", "gitVersion": "v1.20.2"}).encode()
        self.send_response(200); self.send_header("Content-Type", "application/json"); self.end_headers(); self.wfile.write(body)
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", 6443), Handler).serve_forever()') & wait_for_port 6443; fi
kubectl version
