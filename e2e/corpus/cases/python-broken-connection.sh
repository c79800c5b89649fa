# kind: network
# category: network
# decisive: http.client.RemoteDisconnected
cat >server.py <<'END'
import os, socket
listener = socket.create_server(("127.0.0.1", 8080))
while True:
    connection, _ = listener.accept()
    connection.recv(65536)
    if os.environ.get("ANSWER"):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
    connection.close()
END
answer=""
good && answer=1
ANSWER=$answer python3 server.py &
wait_for_port 8080
cat >notify.py <<'END'
import urllib.request
print("announcing the release")
print(urllib.request.urlopen("http://127.0.0.1:8080/announce", timeout=5).read().decode())
END
python3 notify.py
