// The steps of an application that uses SQS. `client` has `call(action, input)`, and `kind(error)`, which returns the
// SDK's form of an error. The scenario makes messages visible by a visibility timeout of 0, and never waits.

const LONG = "600";

async function scenario(client, name) {
  return {
    standard: await standard(client, `${name}-standard`),
    fifo: await fifo(client, `${name}-ordered.fifo`),
    deadLetters: await deadLetters(client, `${name}-redriven`),
    queues: await queues(client, `${name}-listed`),
    errors: await errors(client, `${name}-refused`),
  };
}

async function create(client, QueueName, Attributes, tags) {
  return (await client.call("CreateQueue", { QueueName, Attributes, tags })).QueueUrl;
}

async function counts(client, QueueUrl) {
  const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
  const { Attributes } = await client.call("GetQueueAttributes", { QueueUrl, AttributeNames: names });
  return names.map((name) => Number(Attributes[name]));
}

// A receive may return only some of the messages.
async function receive(client, QueueUrl, count) {
  const input = {
    QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 5, AttributeNames: ["All"], MessageAttributeNames: ["All"],
  };
  const found = [];
  for (let tries = 0; tries < count && found.length < count; tries += 1) {
    found.push(...((await client.call("ReceiveMessage", input)).Messages ?? []));
  }
  return found;
}

const bodies = (messages) => messages.map(({ Body }) => Body);
const ids = (entries) => (entries ?? []).map(({ Id }) => Id);
const failures = (entries) => (entries ?? []).map(({ Id, Code, SenderFault }) => [Id, Code, SenderFault]);

async function standard(client, name) {
  const QueueUrl = await create(client, name, { VisibilityTimeout: LONG });
  const long = client.call("ReceiveMessage", { QueueUrl, WaitTimeSeconds: 20 });
  await client.call("SendMessage", { QueueUrl, MessageBody: "awaited" });
  const awaited = (await long).Messages;
  const batch = await client.call("SendMessageBatch", {
    QueueUrl,
    Entries: [
      { Id: "rich", MessageBody: "grüße, 世界 <&>\r\n", ...attributes() },
      { Id: "plain", MessageBody: "plain" },
      { Id: "late", MessageBody: "late", DelaySeconds: 901 },
    ],
  });
  const sent = await counts(client, QueueUrl);
  const messages = await receive(client, QueueUrl, 2);
  const [plain] = messages.filter(({ Body }) => Body === "plain");
  const [rich] = messages.filter(({ Body }) => Body !== "plain");
  await client.call("ChangeMessageVisibility", {
    QueueUrl, ReceiptHandle: plain.ReceiptHandle, VisibilityTimeout: 0,
  });
  const [again] = await receive(client, QueueUrl, 1);
  const deleted = await client.call("DeleteMessageBatch", {
    QueueUrl,
    Entries: [
      { Id: "rich", ReceiptHandle: rich.ReceiptHandle },
      { Id: "again", ReceiptHandle: again.ReceiptHandle },
      { Id: "wrong", ReceiptHandle: "wrong" },
    ],
  });
  await client.call("DeleteMessage", { QueueUrl, ReceiptHandle: awaited[0].ReceiptHandle });
  return {
    awaited: bodies(awaited), stored: ids(batch.Successful), refused: failures(batch.Failed), sent,
    body: rich.Body, attributes: readAttributes(rich), trace: rich.Attributes.AWSTraceHeader,
    again: [again.Body, again.Attributes.ApproximateReceiveCount],
    deleted: ids(deleted.Successful), kept: failures(deleted.Failed), end: await counts(client, QueueUrl),
  };
}

function attributes() {
  return {
    MessageAttributes: {
      Text: { DataType: "String.of mine", StringValue: "tëxt" },
      Number: { DataType: "Number", StringValue: "-1.50" },
      Bytes: { DataType: "Binary", BinaryValue: Buffer.from([0, 128, 255]) },
    },
    MessageSystemAttributes: {
      AWSTraceHeader: { DataType: "String", StringValue: "Root=1-5759e988-bd862e3fe1be46a994272793" },
    },
  };
}

function readAttributes({ MessageAttributes: { Text, Number: number, Bytes } }) {
  return [Text.DataType, Text.StringValue, number.StringValue, [...Bytes.BinaryValue]];
}

async function fifo(client, name) {
  const QueueUrl = await create(client, name, {
    FifoQueue: "true", ContentBasedDeduplication: "true", VisibilityTimeout: LONG,
  });
  const send = (MessageGroupId, MessageBody) => client.call("SendMessage", { QueueUrl, MessageBody, MessageGroupId });
  const first = await send("a", "a1");
  const second = await send("a", "a2");
  await send("b", "b1");
  const duplicate = await send("a", "a1");
  const messages = await receive(client, QueueUrl, 3);
  const ofGroup = (group) => messages.filter(({ Attributes }) => Attributes.MessageGroupId === group);
  await send("a", "a3");
  const blocked = (await client.call("ReceiveMessage", { QueueUrl })).Messages ?? [];
  await client.call("ChangeMessageVisibilityBatch", {
    QueueUrl,
    Entries: ofGroup("a").map(({ Body, ReceiptHandle }) => ({ Id: Body, ReceiptHandle, VisibilityTimeout: 0 })),
  });
  const again = await receive(client, QueueUrl, 3);
  return {
    rising: BigInt(first.SequenceNumber) < BigInt(second.SequenceNumber),
    duplicate: [duplicate.MessageId === first.MessageId, duplicate.SequenceNumber === first.SequenceNumber],
    a: bodies(ofGroup("a")), b: bodies(ofGroup("b")), blocked: bodies(blocked), again: bodies(again),
  };
}

async function deadLetters(client, name) {
  const dead = await create(client, `${name}-dead`);
  const { Attributes } = await client.call("GetQueueAttributes", { QueueUrl: dead, AttributeNames: ["QueueArn"] });
  const RedrivePolicy = JSON.stringify({ deadLetterTargetArn: Attributes.QueueArn, maxReceiveCount: 1 });
  const source = await create(client, name, { RedrivePolicy });
  const { MessageId } = await client.call("SendMessage", { QueueUrl: source, MessageBody: "hopeless" });
  const [once] = await receive(client, source, 1);
  await client.call("ChangeMessageVisibility", {
    QueueUrl: source, ReceiptHandle: once.ReceiptHandle, VisibilityTimeout: 0,
  });
  const twice = (await client.call("ReceiveMessage", { QueueUrl: source })).Messages ?? [];
  const [moved] = await receive(client, dead, 1);
  return {
    twice: bodies(twice), sameId: moved.MessageId === MessageId,
    from: moved.Attributes.DeadLetterQueueSourceArn.split(":").at(-1).replace(name, "source"),
    sources: (await client.call("ListDeadLetterSourceQueues", { QueueUrl: dead })).queueUrls.map(
      (url) => url === source,
    ),
  };
}

async function queues(client, name) {
  const urls = [];
  for (const number of [1, 2, 3]) {
    urls.push(await create(client, `${name}-${number}`, {}, { kept: "as it is", changed: "old", gone: "soon" }));
  }
  const [QueueUrl] = urls;
  await client.call("TagQueue", { QueueUrl, Tags: { changed: "new", empty: "" } });
  await client.call("UntagQueue", { QueueUrl, TagKeys: ["gone", "never there"] });
  const pages = [];
  let NextToken;
  do {
    const page = await client.call("ListQueues", { QueueNamePrefix: name, MaxResults: 2, NextToken });
    pages.push(page.QueueUrls);
    NextToken = page.NextToken;
  } while (NextToken);
  await client.call("SetQueueAttributes", { QueueUrl, Attributes: { DelaySeconds: "7" } });
  const { Attributes } = await client.call("GetQueueAttributes", { QueueUrl, AttributeNames: ["DelaySeconds"] });
  const { Tags } = await client.call("ListQueueTags", { QueueUrl });
  return {
    tags: Tags, pages: pages.map((page) => page.length), complete: String(pages.flat()) === String(urls),
    attributes: Attributes,
  };
}

async function errors(client, name) {
  const QueueUrl = await create(client, name, { VisibilityTimeout: LONG });
  await client.call("SendMessage", { QueueUrl, MessageBody: "purged" });
  await client.call("PurgeQueue", { QueueUrl });
  const lost = await create(client, `${name}-lost`);
  await client.call("DeleteQueue", { QueueUrl: lost });
  const entry = (Id) => ({ Id, MessageBody: "b" });
  const kind = (action, input) => client.call(action, input).then(() => "no error", client.kind);
  const batch = (...Entries) => kind("SendMessageBatch", { QueueUrl, Entries });
  return {
    countsWhenPurged: await counts(client, QueueUrl),
    unknownQueue: await kind("GetQueueUrl", { QueueName: `${name}-unknown` }),
    deletedQueue: await kind("SendMessage", { QueueUrl: lost, MessageBody: "b" }),
    deletedRecently: await kind("CreateQueue", { QueueName: `${name}-lost` }),
    otherAttributes: await kind("CreateQueue", { QueueName: name, Attributes: { VisibilityTimeout: "1" } }),
    attributeName: await kind("GetQueueAttributes", { QueueUrl, AttributeNames: ["Nothing"] }),
    attributeValue: await kind("SetQueueAttributes", { QueueUrl, Attributes: { DelaySeconds: "901" } }),
    receiptHandle: await kind("DeleteMessage", { QueueUrl, ReceiptHandle: "none" }),
    characters: await kind("SendMessage", { QueueUrl, MessageBody: "\u0001" }),
    purgedAgain: await kind("PurgeQueue", { QueueUrl }),
    emptyBatch: await batch(),
    elevenEntries: await batch(..."abcdefghijk".split("").map(entry)),
    equalIds: await batch(entry("a"), entry("a")),
    idCharacters: await batch(entry("a b")),
    longBatch: await batch({ Id: "a", MessageBody: "x".repeat(1024 * 1024) }, entry("b")),
    taskSource: await kind("StartMessageMoveTask", { SourceArn: "arn:aws:sqs:us-east-1:000000000000:nothing" }),
  };
}

module.exports = { scenario };
