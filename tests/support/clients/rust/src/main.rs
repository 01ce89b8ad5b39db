//! Runs the scenario in tests/support/clients/sdk_scenario.py with the SDK for Rust. Arguments: the address, the queues' name,
//! and optionally `events` for the scenario in tests/support/clients/event_bus_scenario.py.

mod events;

use std::collections::BTreeMap;
use std::error::Error;

use aws_credential_types::provider::SharedCredentialsProvider;
use aws_credential_types::Credentials;
use aws_sdk_sns::types::{MessageAttributeValue as TopicAttribute, PublishBatchRequestEntry};
use aws_sdk_sqs::primitives::Blob;
use aws_sdk_sqs::types::{
    ChangeMessageVisibilityBatchRequestEntry, DeleteMessageBatchRequestEntry, Message, MessageAttributeValue,
    MessageSystemAttributeName, QueueAttributeName, SendMessageBatchRequestEntry,
};
use aws_smithy_http_client::Builder;
use aws_types::region::Region;
use aws_types::SdkConfig;
use serde_json::{json, Value};

type Told<T> = Result<T, Box<dyn Error>>;

const BODY: &str = "grüße, 世界 <&>";
const VISIBILITY_SECONDS: i32 = 600;

struct Scenario {
    events: aws_sdk_eventbridgev2::Client,
    sqs: aws_sdk_sqs::Client,
    sns: aws_sdk_sns::Client,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Told<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let (address, name) = (&arguments[1], &arguments[2]);
    let credentials = Credentials::from_keys(variable("PENSTOCK_KEY"), variable("PENSTOCK_SECRET"), None);
    let config = SdkConfig::builder()
        .endpoint_url(address)
        .region(Region::from_static("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .http_client(Builder::new().build_http())
        .build();
    let scenario = Scenario {
        events: aws_sdk_eventbridgev2::Client::new(&config),
        sqs: aws_sdk_sqs::Client::new(&config),
        sns: aws_sdk_sns::Client::new(&config),
    };
    let facts = match arguments.get(3).map(String::as_str) {
        Some("events") => scenario.event_bus(name).await?,
        _ => scenario.queues_and_topic(name).await?,
    };
    println!("{facts}");
    Ok(())
}

impl Scenario {
    async fn queues_and_topic(&self, name: &str) -> Told<Value> {
        let mut facts = self.standard(name).await?;
        facts["fifo"] = self.fifo(&format!("{name}.fifo")).await?;
        facts["topic"] = self.topic(name).await?;
        Ok(facts)
    }

    async fn standard(&self, name: &str) -> Told<Value> {
        let url = self.create(name, false).await?;
        let (awaited, sent) = tokio::join!(self.receive(&url, 1), self.send(&url, "awaited", false));
        sent?;
        let awaited = awaited?;
        self.delete_all(&url, awaited.iter().collect()).await?;

        self.send(&url, BODY, true).await?;
        let mut entries = Vec::new();
        for (body, delay) in [("two", 0), ("three", 0), ("late", 901)] {
            entries.push(SendMessageBatchRequestEntry::builder().id(body).message_body(body).delay_seconds(delay).build()?);
        }
        let sent = self.sqs.send_message_batch().queue_url(&url).set_entries(Some(entries)).send().await?;
        let failed: Vec<Value> = sent.failed().iter().map(|f| json!([f.id(), f.code(), f.sender_fault()])).collect();
        let messages: BTreeMap<String, Message> =
            self.receive(&url, 3).await?.into_iter().map(|m| (text(m.body()), m)).collect();
        let received: Vec<&String> = messages.keys().collect();
        let attributes: BTreeMap<&String, String> =
            messages[BODY].message_attributes().into_iter().flatten().map(|(key, value)| (key, value_text(value))).collect();

        self.sqs
            .change_message_visibility()
            .queue_url(&url)
            .set_receipt_handle(messages["two"].receipt_handle.clone())
            .visibility_timeout(0)
            .send()
            .await?;
        let again = self.receive(&url, 1).await?.remove(0);
        let handle = messages[BODY].receipt_handle.clone();
        self.sqs.delete_message().queue_url(&url).set_receipt_handle(handle).send().await?;
        let deleted = self.delete_all(&url, vec![&again, &messages["three"]]).await?;
        self.send(&url, "left", true).await?;
        let unknown = match self.sqs.receive_message().queue_url(format!("{url}-unknown")).send().await {
            Err(error) if error.as_service_error().is_some_and(|e| e.is_queue_does_not_exist()) => "QueueDoesNotExist",
            _ => "nothing",
        };
        Ok(json!({
            "awaited": awaited[0].body(),
            "failed": failed,
            "received": received,
            "attributes": attributes,
            "again": [again.body(), system(&again, MessageSystemAttributeName::ApproximateReceiveCount)],
            "deleted": deleted,
            "unknown": unknown,
        }))
    }

    async fn fifo(&self, name: &str) -> Told<Value> {
        let url = self.create(name, true).await?;
        let (first, first_number) = self.send_to(&url, "a", "a1").await?;
        let (_, second_number) = self.send_to(&url, "a", "a2").await?;
        self.send_to(&url, "b", "b1").await?;
        let (duplicate, _) = self.send_to(&url, "a", "a1").await?;
        let messages = self.receive(&url, 3).await?;
        let mut groups: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for message in &messages {
            groups.entry(group(message)).or_default().push(text(message.body()));
        }
        self.send_to(&url, "a", "a3").await?;
        let blocked = self.sqs.receive_message().queue_url(&url).send().await?.messages().len();
        let mut entries = Vec::new();
        for message in messages.iter().filter(|m| group(m) == "a") {
            entries.push(
                ChangeMessageVisibilityBatchRequestEntry::builder()
                    .id(text(message.body()))
                    .set_receipt_handle(message.receipt_handle.clone())
                    .visibility_timeout(0)
                    .build()?,
            );
        }
        self.sqs.change_message_visibility_batch().queue_url(&url).set_entries(Some(entries)).send().await?;
        let again = self.receive(&url, 3).await?;
        let of_b = messages.iter().filter(|m| group(m) == "b");
        let of_a = again.iter().filter(|m| m.body() != Some("a3"));
        let deleted = self.delete_all(&url, of_b.chain(of_a).collect()).await?;
        Ok(json!({
            "duplicate": duplicate == first,
            "rising": first_number < second_number,
            "groups": groups,
            "blocked": blocked,
            "again": again.iter().map(Message::body).collect::<Vec<_>>(),
            "deleted": deleted,
        }))
    }

    async fn topic(&self, name: &str) -> Told<Value> {
        let url = self.create(&format!("{name}-topic"), false).await?;
        let queue = self.arn(&url).await?;
        let topic = self.sns.create_topic().name(name).send().await?.topic_arn.unwrap_or_default();
        self.sns
            .subscribe()
            .topic_arn(&topic)
            .protocol("sqs")
            .endpoint(queue)
            .attributes("RawMessageDelivery", "true")
            .attributes("FilterPolicy", r#"{"kind":["large"]}"#)
            .send()
            .await?;
        self.sns.publish().topic_arn(&topic).message("small").message_attributes("kind", kind("small")?).send().await?;
        let mut entries = Vec::new();
        for (id, body, of) in [("0", BODY, "large"), ("1", "other", "small")] {
            entries.push(PublishBatchRequestEntry::builder().id(id).message(body).message_attributes("kind", kind(of)?).build()?);
        }
        self.sns.publish_batch().topic_arn(&topic).set_publish_batch_request_entries(Some(entries)).send().await?;
        let messages = self.receive(&url, 1).await?;
        self.delete_all(&url, messages.iter().collect()).await?;
        let seen = messages.iter().map(|m| {
            let kinds = m.message_attributes().and_then(|attributes| attributes.get("kind"));
            json!([m.body(), kinds.and_then(|value| value.string_value())])
        });
        Ok(seen.collect())
    }

    async fn create(&self, name: &str, fifo: bool) -> Told<String> {
        let mut call = self
            .sqs
            .create_queue()
            .queue_name(name)
            .attributes(QueueAttributeName::VisibilityTimeout, VISIBILITY_SECONDS.to_string());
        if fifo {
            call = call.attributes(QueueAttributeName::FifoQueue, "true");
        }
        Ok(call.send().await?.queue_url.unwrap_or_default())
    }

    async fn arn(&self, url: &str) -> Told<String> {
        let asked = self.sqs.get_queue_attributes().queue_url(url).attribute_names(QueueAttributeName::QueueArn);
        let attributes = asked.send().await?.attributes.unwrap_or_default();
        Ok(attributes[&QueueAttributeName::QueueArn].clone())
    }

    async fn send(&self, url: &str, body: &str, rich: bool) -> Told<()> {
        let mut call = self.sqs.send_message().queue_url(url).message_body(body);
        if rich {
            let bytes = Blob::new([0u8, 128, 255]);
            call = call
                .message_attributes("Text", MessageAttributeValue::builder().data_type("String").string_value("tëxt").build()?)
                .message_attributes("Number", MessageAttributeValue::builder().data_type("Number").string_value("-1.50").build()?)
                .message_attributes("Bytes", MessageAttributeValue::builder().data_type("Binary").binary_value(bytes).build()?);
        }
        call.send().await?;
        Ok(())
    }

    /// Returns the message's id and sequence number.
    async fn send_to(&self, url: &str, group: &str, body: &str) -> Told<(String, String)> {
        let call = self.sqs.send_message().queue_url(url).message_body(body);
        let sent = call.message_group_id(group).message_deduplication_id(body).send().await?;
        Ok((text(sent.message_id()), text(sent.sequence_number())))
    }

    /// Receives this many messages with several calls, because a receive may return only some of them.
    async fn receive(&self, url: &str, count: usize) -> Told<Vec<Message>> {
        let mut messages = Vec::new();
        for _ in 0..10 {
            if messages.len() < count {
                let call = self.sqs.receive_message().queue_url(url).max_number_of_messages(10).wait_time_seconds(20);
                let call = call.message_attribute_names("All");
                let answer = call.message_system_attribute_names(MessageSystemAttributeName::All).send().await?;
                messages.extend(answer.messages.unwrap_or_default());
            }
        }
        Ok(messages)
    }

    async fn delete_all(&self, url: &str, messages: Vec<&Message>) -> Told<usize> {
        let mut entries = Vec::new();
        for (number, message) in messages.iter().enumerate() {
            let entry = DeleteMessageBatchRequestEntry::builder().id(number.to_string());
            entries.push(entry.set_receipt_handle(message.receipt_handle.clone()).build()?);
        }
        let answer = self.sqs.delete_message_batch().queue_url(url).set_entries(Some(entries)).send().await?;
        Ok(answer.successful().len())
    }
}

/// Returns an access key or its secret. Without signatures any value works.
fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| "x".to_string())
}

fn kind(value: &str) -> Told<TopicAttribute> {
    Ok(TopicAttribute::builder().data_type("String").string_value(value).build()?)
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_string()
}

fn value_text(value: &MessageAttributeValue) -> String {
    let bytes = value.binary_value().map(|blob| blob.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    format!("{} {}", value.data_type(), bytes.unwrap_or_else(|| text(value.string_value())))
}

fn system(message: &Message, name: MessageSystemAttributeName) -> String {
    message.attributes().and_then(|attributes| attributes.get(&name)).cloned().unwrap_or_default()
}

fn group(message: &Message) -> String {
    system(message, MessageSystemAttributeName::MessageGroupId)
}
