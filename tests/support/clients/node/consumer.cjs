// Sends with @aws-sdk/client-sqs, receives with sqs-consumer, and prints the results as JSON.
// Arguments: the folder that contains node_modules, the service's address.
const { createRequire } = require("node:module");

const [, , modules, endpoint] = process.argv;
const fromModules = createRequire(`${modules}/`);
const { Consumer } = fromModules("sqs-consumer");
const {
  ChangeMessageVisibilityCommand, CreateQueueCommand, DeleteMessageCommand, DeleteQueueCommand,
  GetQueueAttributesCommand, GetQueueUrlCommand, ReceiveMessageCommand, SendMessageBatchCommand, SendMessageCommand,
  SQSClient,
} = fromModules("@aws-sdk/client-sqs");

const sqs = new SQSClient({
  endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" },
});
const call = (Command, input) => sqs.send(new Command(input));

async function counts(QueueUrl) {
  const names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"];
  const { Attributes } = await call(GetQueueAttributesCommand, { QueueUrl, AttributeNames: names });
  return names.map((name) => Number(Attributes[name]));
}

// The consumer deletes handled messages, and makes failed messages visible. Ends after `handled` messages.
function consume(queueUrl, handled, { failFirst }) {
  const seen = [];
  const failed = new Set();
  return new Promise((resolve, reject) => {
    const consumer = Consumer.create({
      sqs, queueUrl, batchSize: 10, waitTimeSeconds: 5, terminateVisibilityTimeout: true, suppressFifoWarning: true,
      attributeNames: ["All"], messageAttributeNames: ["All"], shouldDeleteMessages: true,
      handleMessage: async (message) => {
        if (message.Body === failFirst && !failed.has(message.Body)) {
          failed.add(message.Body);
          throw new Error("the first attempt fails");
        }
        seen.push(message);
        return message;
      },
    });
    // The event means that the message is deleted.
    let left = handled;
    consumer.on("message_processed", () => { left -= 1; if (left === 0) consumer.stop(); });
    consumer.on("error", reject);
    consumer.on("stopped", () => resolve(seen));
    consumer.start();
  });
}

async function direct(QueueUrl) {
  await call(SendMessageCommand, { QueueUrl, MessageBody: "direct" });
  const [first] = (await call(ReceiveMessageCommand, { QueueUrl, WaitTimeSeconds: 5 })).Messages;
  await call(ChangeMessageVisibilityCommand, { QueueUrl, ReceiptHandle: first.ReceiptHandle, VisibilityTimeout: 0 });
  const again = await call(ReceiveMessageCommand, {
    QueueUrl, WaitTimeSeconds: 5, MessageSystemAttributeNames: ["ApproximateReceiveCount"],
  });
  await call(DeleteMessageCommand, { QueueUrl, ReceiptHandle: again.Messages[0].ReceiptHandle });
  return [again.Messages[0].Body, again.Messages[0].Attributes.ApproximateReceiveCount];
}

async function standard() {
  const { QueueUrl } = await call(CreateQueueCommand, { QueueName: "node", Attributes: { VisibilityTimeout: "600" } });
  const attributes = {
    Text: { DataType: "String", StringValue: "tëxt" },
    Bytes: { DataType: "Binary", BinaryValue: Uint8Array.of(0, 255) },
  };
  await call(SendMessageCommand, { QueueUrl, MessageBody: "grüße", MessageAttributes: attributes });
  const { Failed = [] } = await call(SendMessageBatchCommand, {
    QueueUrl, Entries: ["two", "three"].map((body) => ({ Id: body, MessageBody: body })),
  });
  const sent = await counts(QueueUrl);
  const seen = await consume(QueueUrl, 3, { failFirst: "two" });
  const first = seen.find((message) => message.Body === "grüße");
  const facts = {
    failed: Failed.length, sent,
    received: seen.map((message) => [message.Body, message.Attributes.ApproximateReceiveCount]).sort(),
    text: first.MessageAttributes.Text.StringValue, bytes: [...first.MessageAttributes.Bytes.BinaryValue],
    left: await counts(QueueUrl), direct: await direct(QueueUrl), end: await counts(QueueUrl),
  };
  await call(DeleteQueueCommand, { QueueUrl });
  facts.error = await call(GetQueueUrlCommand, { QueueName: "node" }).then(() => null, (error) => error.name);
  return facts;
}

async function fifo() {
  const { QueueUrl } = await call(CreateQueueCommand, {
    QueueName: "node.fifo",
    Attributes: { FifoQueue: "true", ContentBasedDeduplication: "true", VisibilityTimeout: "600" },
  });
  const ids = [];
  for (const MessageBody of ["1", "2", "3", "1"]) {
    ids.push((await call(SendMessageCommand, { QueueUrl, MessageBody, MessageGroupId: "g" })).MessageId);
  }
  const sent = await counts(QueueUrl);
  const seen = await consume(QueueUrl, 3, {});
  return {
    sent, duplicate: ids[0] === ids[3], received: seen.map((message) => message.Body), left: await counts(QueueUrl),
  };
}

(async () => {
  console.log(JSON.stringify({ standard: await standard(), fifo: await fifo() }));
})();
