// Sends three orders, and handles them until the queue is empty. npm install && npm start
import {
  CreateQueueCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SendMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const sqs = new SQSClient({
  endpoint: process.env.AWS_ENDPOINT_URL ?? "http://127.0.0.1:9324",
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});

const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: "example-node" }));
for (const order of [1, 2, 3]) {
  await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify({ order }) }));
}

for (;;) {
  // The call returns as soon as a message arrives, and after two seconds without one. A worker in production waits 20.
  const { Messages = [] } = await sqs.send(
    new ReceiveMessageCommand({ QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 2 }),
  );
  if (Messages.length === 0) break;
  for (const { Body, ReceiptHandle } of Messages) {
    console.log(`handled ${Body}`);
    await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle }));
  }
}
sqs.destroy();
