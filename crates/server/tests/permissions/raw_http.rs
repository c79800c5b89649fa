//! Raw HTTP requests: a client library would normalize the path.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::TestServer;

/// Sends the path unchanged. Returns the status and the whole response.
pub async fn request(
    server: &TestServer,
    method: &str,
    path: &[u8],
    headers: &[(&str, &str)],
) -> (u16, String) {
    let address = server.origin.trim_start_matches("http://");
    let mut stream = TcpStream::connect(address).await.unwrap();
    let mut message = method.as_bytes().to_vec();
    message.push(b' ');
    message.extend_from_slice(path);
    message.extend_from_slice(format!(" HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n").as_bytes());
    for (name, value) in headers {
        message.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    message.extend_from_slice(b"\r\n");
    stream.write_all(&message).await.unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).await.unwrap();
    let text = String::from_utf8_lossy(&response).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), text)
}
