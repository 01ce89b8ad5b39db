// Uses topics, subscriptions and messages with @aws-sdk/client-sns. Prints the results as JSON.
// Arguments: the folder that contains node_modules, the service's address, a webhook URL.
const { createRequire } = require("node:module");
const { createServer } = require("node:http");

const [, , modules, endpoint] = process.argv;
const load = createRequire(`${modules}/`);
const sns = load("@aws-sdk/client-sns");
const sqs = load("@aws-sdk/client-sqs");
const options = { endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" } };
const topics = new sns.SNSClient(options);
const queues = new sqs.SQSClient(options);
const call = (action, input) => topics.send(new sns[`${action}Command`](input));
const ask = (action, input) => queues.send(new sqs[`${action}Command`](input));

async function queue(QueueName, Attributes) {
  const { QueueUrl } = await ask("CreateQueue", { QueueName, Attributes });
  const found = await ask("GetQueueAttributes", { QueueUrl, AttributeNames: ["QueueArn"] });
  return { url: QueueUrl, arn: found.Attributes.QueueArn };
}

async function received({ url }) {
  const input = { QueueUrl: url, MaxNumberOfMessages: 10, AttributeNames: ["All"], MessageAttributeNames: ["All"] };
  return (await ask("ReceiveMessage", input)).Messages ?? [];
}

async function refused(action, input) {
  try {
    await call(action, input);
    return "accepted";
  } catch (error) {
    const known = Object.keys(sns).find((name) => name.endsWith("Exception") && error.constructor === sns[name]);
    return [known, error.name, error.$metadata.httpStatusCode];
  }
}

async function fanOut() {
  const { TopicArn } = await call("CreateTopic", { Name: "node", Tags: [{ Key: "of", Value: "node" }] });
  const [all, some, raw] = [await queue("node-all"), await queue("node-some"), await queue("node-raw")];
  const subscribe = async (to, Attributes) =>
    (await call("Subscribe", { TopicArn, Protocol: "sqs", Endpoint: to.arn, Attributes, ReturnSubscriptionArn: true }))
      .SubscriptionArn;
  await subscribe(all, {});
  const filtered = await subscribe(some, { FilterPolicy: JSON.stringify({ kind: ["large"], size: [{ numeric: [">", 10] }] }) });
  await subscribe(raw, { RawMessageDelivery: "true" });
  const attributes = (kind, size) => ({
    kind: { DataType: "String", StringValue: kind }, size: { DataType: "Number", StringValue: String(size) },
  });
  await call("Publish", { TopicArn, Message: "small", MessageAttributes: attributes("large", 9) });
  const batch = await call("PublishBatch", {
    TopicArn,
    PublishBatchRequestEntries: [
      { Id: "large", Message: "grüße\n世界", Subject: "large", MessageAttributes: attributes("large", 11) },
      { Id: "long", Message: "x", Subject: "x".repeat(101) },
    ],
  });
  const envelope = JSON.parse((await received(some))[0].Body);
  const set = await call("GetSubscriptionAttributes", { SubscriptionArn: filtered });
  return {
    all: (await received(all)).map(({ Body }) => JSON.parse(Body).Message),
    some: [envelope.Message, envelope.Subject, Object.keys(envelope.MessageAttributes)],
    raw: (await received(raw)).map(({ Body, MessageAttributes }) => [Body, MessageAttributes.size.StringValue]),
    batch: [batch.Successful.map(({ Id }) => Id), batch.Failed.map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault])],
    policy: JSON.parse(set.Attributes.FilterPolicy),
    tags: (await call("ListTagsForResource", { ResourceArn: TopicArn })).Tags,
    subscriptions: (await call("ListSubscriptionsByTopic", { TopicArn })).Subscriptions.length,
    unsubscribed: (await call("Unsubscribe", { SubscriptionArn: filtered })).$metadata.httpStatusCode,
    left: (await call("ListSubscriptionsByTopic", { TopicArn })).Subscriptions.length,
  };
}

async function ordered() {
  const { TopicArn } = await call("CreateTopic", {
    Name: "node.fifo", Attributes: { FifoTopic: "true", ContentBasedDeduplication: "true" },
  });
  const to = await queue("node.fifo", { FifoQueue: "true" });
  await call("Subscribe", { TopicArn, Protocol: "sqs", Endpoint: to.arn, Attributes: { RawMessageDelivery: "true" } });
  const numbers = [];
  for (const Message of ["one", "two", "one"]) {
    numbers.push((await call("Publish", { TopicArn, Message, MessageGroupId: "a" })).SequenceNumber);
  }
  const messages = await received(to);
  return {
    rising: numbers[0] < numbers[1],
    duplicate: numbers[2] === numbers[0],
    received: messages.map(({ Body, Attributes }) => [Body, Attributes.MessageGroupId]),
  };
}

// An endpoint confirms its subscription with the token, gets a message, and is notified of the unsubscription.
async function endpoints() {
  const seen = [];
  let wake = () => {};
  const server = createServer((request, response) => {
    const parts = [];
    request.on("data", (part) => parts.push(part));
    request.on("end", () => {
      seen.push({ type: request.headers["x-amz-sns-message-type"], ...JSON.parse(Buffer.concat(parts).toString()) });
      response.end();
      wake();
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const arrived = async (count) => {
    while (seen.length < count) await new Promise((resolve) => { wake = resolve; });
  };
  const { TopicArn } = await call("CreateTopic", { Name: "node-endpoint" });
  const Endpoint = `http://127.0.0.1:${server.address().port}/`;
  const pending = await call("Subscribe", { TopicArn, Protocol: "http", Endpoint });
  await arrived(1);
  const { SubscriptionArn } = await call("ConfirmSubscription", { TopicArn, Token: seen[0].Token });
  await call("Publish", { TopicArn, Message: "hello" });
  await arrived(2);
  await call("Unsubscribe", { SubscriptionArn });
  await arrived(3);
  server.close();
  server.closeAllConnections();
  return {
    pending: pending.SubscriptionArn,
    seen: seen.map(({ type, Type }) => [type, Type]),
    message: seen[1].Message,
  };
}

async function errors() {
  const { TopicArn } = await call("CreateTopic", { Name: "node-refused" });
  const unknown = TopicArn.replace("node-refused", "unknown");
  return {
    unknown: await refused("Publish", { TopicArn: unknown, Message: "x" }),
    name: await refused("CreateTopic", { Name: "a b" }),
    policy: await refused("Subscribe", {
      TopicArn, Protocol: "sqs", Endpoint: "arn:aws:sqs:us-east-1:000000000000:q", Attributes: { FilterPolicy: "{" },
    }),
    emptyBatch: await refused("PublishBatch", { TopicArn, PublishBatchRequestEntries: [] }),
  };
}

(async () => {
  const facts = { fanOut: await fanOut(), ordered: await ordered(), endpoints: await endpoints(), errors: await errors() };
  topics.destroy();
  queues.destroy();
  console.log(JSON.stringify(facts));
})();
