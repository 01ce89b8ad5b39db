// Handles the messages of a queue until SIGTERM or Ctrl-C. npm install && npm start URL
import { setTimeout } from "node:timers/promises";
import {
  ChangeMessageVisibilityCommand,
  DeleteMessageCommand,
  ReceiveMessageCommand,
  SQSClient,
} from "@aws-sdk/client-sqs";

const CONCURRENCY = 8;
const VISIBILITY_SECONDS = 30; // Other consumers receive the messages of a dead worker after this time.
const FIRST_PAUSE_SECONDS = Number(process.env.FIRST_PAUSE_SECONDS ?? 10); // before the second attempt
const MAX_PAUSE_SECONDS = 900;

const sqs = new SQSClient({
  endpoint: process.env.AWS_ENDPOINT_URL ?? "http://127.0.0.1:9324",
  region: "us-east-1",
  credentials: { accessKeyId: "any", secretAccessKey: "any" },
});
const QueueUrl = process.argv[2]; // such as http://127.0.0.1:9324/000000000000/orders
let stopping = false;
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => (stopping = true));

async function handle(message) {
  const order = JSON.parse(message.Body);
  if (order.total === null) throw new Error("total is null");
  console.log(`handled order ${order.id}`);
}

/** Makes a message visible after this time. Penstock stores the error, and Amazon SQS ignores the header. */
function changeVisibility({ ReceiptHandle }, VisibilityTimeout, error) {
  const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
  const addHeader = (next) => (step) => {
    const text = String(error).slice(0, 1024).toWellFormed();
    step.request.headers["x-penstock-error"] = encodeURIComponent(text);
    return next(step);
  };
  if (error) command.middlewareStack.add(addHeader, { step: "build" });
  return sqs.send(command);
}

async function fail(message, error) {
  const attempts = Number(message.Attributes.ApproximateReceiveCount);
  const pause = Math.min(FIRST_PAUSE_SECONDS * 2 ** (attempts - 1), MAX_PAUSE_SECONDS);
  console.error(`message ${message.MessageId} failed, and returns in ${pause} s: ${error}`);
  await changeVisibility(message, pause, error);
}

async function handleAndDelete(message) {
  const extend = () => changeVisibility(message, VISIBILITY_SECONDS).catch(console.error);
  const heartbeat = setInterval(extend, (VISIBILITY_SECONDS * 1000) / 3);
  const error = await handle(message).catch((error) => error);
  clearInterval(heartbeat);
  if (error) await fail(message, error);
  else await sqs.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: message.ReceiptHandle }));
}

/** Handles one message after the other. A FIFO queue keeps the order of a group, of which one message is in flight. */
async function run() {
  while (!stopping) {
    try {
      const { Messages = [] } = await sqs.send(
        new ReceiveMessageCommand({
          QueueUrl,
          WaitTimeSeconds: 5, // A stop waits for this receive.
          VisibilityTimeout: VISIBILITY_SECONDS,
          MessageSystemAttributeNames: ["ApproximateReceiveCount"],
        }),
      );
      for (const message of Messages) {
        await (stopping ? changeVisibility(message, 0) : handleAndDelete(message));
      }
    } catch (error) {
      console.error(error); // The message returns after its visibility timeout.
      await setTimeout(1000);
    }
  }
}

await Promise.all(Array.from({ length: CONCURRENCY }, run));
sqs.destroy();
