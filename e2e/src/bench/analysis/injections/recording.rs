//! A transport that records what is sent.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::{Request, Response};
use greenroom_analysis::model::{Exchange, Transport, TransportError};

#[derive(Clone, Debug)]
pub(super) struct SentRequest {
    pub(super) url: String,
    pub(super) body: String,
}

#[derive(Clone)]
pub(super) struct Recording<T> {
    transport: T,
    requests: Arc<Mutex<Vec<SentRequest>>>,
}

impl<T> Recording<T> {
    pub(super) fn new(transport: T) -> Self {
        Self { transport, requests: Arc::default() }
    }

    pub(super) fn requests(&self) -> Vec<SentRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl<T: Transport> Transport for Recording<T> {
    async fn send(
        &self,
        request: Request<Vec<u8>>,
        exchange: Exchange,
    ) -> Result<Response<Vec<u8>>, TransportError> {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let sent = SentRequest { url: request.uri().to_string(), body };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(sent);
        self.transport.send(request, exchange).await
    }
}
