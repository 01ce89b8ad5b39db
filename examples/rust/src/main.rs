//! Sends three orders, and handles them until the queue is empty. cargo run

use std::error::Error;

use aws_credential_types::Credentials;
use aws_sdk_sqs::config::Region;
use aws_sdk_sqs::{Client, Config};
use aws_smithy_http_client::Builder;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let endpoint = std::env::var("AWS_ENDPOINT_URL").unwrap_or_else(|_| "http://127.0.0.1:9324".to_owned());
    let sqs = Client::from_conf(
        Config::builder()
            .endpoint_url(endpoint)
            .region(Region::from_static("us-east-1"))
            .credentials_provider(Credentials::from_keys("any", "any", None))
            .http_client(Builder::new().build_http())
            .build(),
    );
    let created = sqs.create_queue().queue_name("example-rust").send().await?;
    let url = created.queue_url().ok_or("no queue URL")?;
    for order in 1..=3 {
        sqs.send_message().queue_url(url).message_body(format!("{{\"order\":{order}}}")).send().await?;
    }
    loop {
        // The call returns as soon as a message arrives, and after two seconds without one. A worker in production
        // waits 20.
        let received =
            sqs.receive_message().queue_url(url).max_number_of_messages(10).wait_time_seconds(2).send().await?;
        if received.messages().is_empty() {
            return Ok(());
        }
        for message in received.messages() {
            println!("handled {}", message.body().unwrap_or_default());
            sqs.delete_message().queue_url(url).set_receipt_handle(message.receipt_handle.clone()).send().await?;
        }
    }
}
