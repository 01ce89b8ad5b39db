//! Runs the scenario in tests/support/clients/event_bus_scenario.py with the SDK for Rust.

use std::collections::BTreeMap;
use std::time::SystemTime;

use aws_sdk_eventbridgev2::primitives::{Blob, DateTime};
use aws_sdk_eventbridgev2::types::{
    Filter, FilterConfiguration, FilterScope, InvokeConfiguration, PutEventsRequestEntry, PutEventsSystemMetadata,
    PutRawEventsRequestEntry, PutRawEventsSystemMetadata, StorageConfiguration, SuccessCode, Transformer, TransformerType,
};
use serde_json::{json, Value};

use super::{text, Scenario, Told};

const PATTERN: &str = r#"{"EventGroupId":["large"]}"#;
const DETAIL: &str = r#"{"text":"grüße, 世界 <&>"}"#;
const TIME_SECONDS: i64 = 1_785_546_061;

impl Scenario {
    pub async fn event_bus(&self, name: &str) -> Told<Value> {
        let url = self.create(name, false).await?;
        let queue = self.arn(&url).await?;
        let buses = [self.bus(&format!("{name}-1")).await?, self.bus(&format!("{name}-2")).await?];
        let pages = self.pages(name).await?;
        let found = self.events.describe_event_bus().event_bus_arn(&buses[0]).send().await?;
        let retention = found.storage_configuration().and_then(|storage| storage.retention_period_in_days());
        let subscriber = self.subscribe(name, &buses[0], &queue).await?;
        let shown = self.shown(&subscriber, &queue).await?;
        let (events, event_id) = self.publish(&buses[0]).await?;
        let (raw_events, raw_event_id) = self.publish_bytes(&buses[0]).await?;

        let messages = self.receive(&url, 2).await?;
        let mut bodies = BTreeMap::new();
        for message in &messages {
            let body: Value = serde_json::from_str(&text(message.body()))?;
            bodies.insert(text(body["SystemMetadata"]["aws:EventId"].as_str()), body);
        }
        let (event, raw_event) = (&bodies[&event_id]["Data"], &bodies[&raw_event_id]);
        let members = ["source", "detail-type", "time", "resources", "detail"].map(|member| &event[member]);

        self.events.delete_subscriber().subscriber_arn(subscriber).send().await?;
        for bus in &buses {
            self.events.delete_event_bus().event_bus_arn(bus).send().await?;
        }
        self.sqs.delete_queue().queue_url(url).send().await?;
        let unknown = match self.events.describe_event_bus().event_bus_arn(&buses[0]).send().await {
            Err(error) if error.as_service_error().is_some_and(|e| e.is_resource_not_found_exception()) => {
                "ResourceNotFoundException"
            }
            _ => "nothing",
        };
        Ok(json!({
            "pages": pages,
            "retention": retention,
            "subscriber": shown,
            "events": events,
            "raw events": raw_events,
            "received": messages.len(),
            "event": members,
            "raw event": [raw_event["Data"], raw_event["Metadata"]],
            "unknown": unknown,
            "left": self.pages(name).await?,
        }))
    }

    async fn bus(&self, name: &str) -> Told<String> {
        let storage = StorageConfiguration::builder().retention_period_in_days(7).build();
        let created = self.events.create_event_bus().name(name).storage_configuration(storage).send().await?;
        Ok(text(created.event_bus_arn()))
    }

    /// Returns the ends of the names of the buses, one list for each page that has buses.
    async fn pages(&self, name: &str) -> Told<Vec<Vec<String>>> {
        let mut found = Vec::new();
        let mut pages = self.events.list_event_buses().name_prefix(name).into_paginator().page_size(1).send();
        while let Some(page) = pages.next().await {
            let names: Vec<String> = page?.event_buses().iter().map(|bus| text(bus.name())[name.len()..].to_string()).collect();
            if !names.is_empty() {
                found.push(names);
            }
        }
        found.sort();
        Ok(found)
    }

    async fn subscribe(&self, name: &str, bus: &str, queue: &str) -> Told<String> {
        let account = queue.split(':').nth(4).unwrap_or_default();
        let invoke = InvokeConfiguration::builder().target_arn(queue).role_arn(format!("arn:aws:iam::{account}:role/bus"));
        let filter = Filter::builder().scope(FilterScope::SystemMetadata).pattern(PATTERN).build()?;
        let created = self
            .events
            .create_subscriber()
            .name(name)
            .event_bus_arn(bus)
            .invoke_configuration(invoke.build()?)
            .filter_configuration(FilterConfiguration::builder().filters(filter).build())
            .transformer(Transformer::builder().r#type(TransformerType::WithMetadata).build())
            .send()
            .await?;
        Ok(text(created.subscriber_arn()))
    }

    async fn shown(&self, subscriber: &str, queue: &str) -> Told<Value> {
        let shown = self.events.describe_subscriber().subscriber_arn(subscriber).send().await?;
        let filters = shown.filter_configuration().map(|configuration| configuration.filters()).unwrap_or_default();
        let filters: Vec<_> = filters.iter().map(|filter| [filter.scope().as_str(), filter.pattern()]).collect();
        let age = DateTime::from(SystemTime::now()).secs() - shown.creation_time().map_or(0, DateTime::secs);
        Ok(json!({
            "target": shown.invoke_configuration().is_some_and(|invoke| invoke.target_arn() == queue),
            "filters": filters,
            "transformer": shown.transformer().and_then(|transformer| transformer.r#type()).map(|kind| kind.as_str()),
            "type": shown.r#type().map(|kind| kind.as_str()),
            "state": shown.state().map(|state| state.as_str()),
            "created in the last hour": age.abs() < 3600,
        }))
    }

    /// Returns the number of failed entries and the code of each entry, and the id of the event in the group `large`.
    async fn publish(&self, bus: &str) -> Told<(Value, String)> {
        let mut entries = Vec::new();
        for group in ["small", "large"] {
            entries.push(
                PutEventsRequestEntry::builder()
                    .source("shop")
                    .detail_type("order")
                    .detail(DETAIL)
                    .resources("arn:aws:s3:::orders")
                    .time(DateTime::from_secs(TIME_SECONDS))
                    .system_metadata(PutEventsSystemMetadata::builder().event_group_id(group).build())
                    .build()?,
            );
        }
        let published = self.events.put_events().event_bus_arn(bus).set_entries(Some(entries)).send().await?;
        let results = published.entries();
        let codes: Vec<_> = results.iter().map(|entry| code(entry.success_code(), entry.error_code())).collect();
        Ok((json!([published.failed_entry_count(), codes]), text(results[1].event_id())))
    }

    /// Publishes bytes twice with one deduplication id, and an entry whose content type the service refuses.
    async fn publish_bytes(&self, bus: &str) -> Told<(Value, String)> {
        let mut entries = Vec::new();
        for content_type in ["application/octet-stream", "application/octet-stream", "application/xml"] {
            let system = PutRawEventsSystemMetadata::builder().content_type(content_type).event_group_id("large");
            entries.push(
                PutRawEventsRequestEntry::builder()
                    .data(Blob::new([0u8, 128, 255]))
                    .metadata("Team", "tëxt")
                    .system_metadata(system.deduplication_id("once").build()?)
                    .build()?,
            );
        }
        let published = self.events.put_raw_events().event_bus_arn(bus).set_entries(Some(entries)).send().await?;
        let results = published.entries();
        let codes: Vec<_> = results.iter().map(|entry| code(entry.success_code(), entry.error_code())).collect();
        Ok((json!([published.failed_entry_count(), codes]), text(results[0].event_id())))
    }
}

fn code(success: Option<&SuccessCode>, error: Option<&str>) -> String {
    text(error.or(success.map(|code| code.as_str())))
}
