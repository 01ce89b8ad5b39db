// A NestJS application with @ssut/nestjs-sqs: two handlers and their producers. Prints the results as JSON.
// Arguments: the folder that contains node_modules, the service's address.
const { createRequire } = require("node:module");

const [, , modules, endpoint] = process.argv;
const fromModules = createRequire(`${modules}/`);
fromModules("reflect-metadata");
const { Injectable, Module } = fromModules("@nestjs/common");
const { NestFactory } = fromModules("@nestjs/core");
const { SqsConsumerEventHandler, SqsMessageHandler, SqsModule, SqsService } = fromModules("@ssut/nestjs-sqs");
const { CreateQueueCommand, SQSClient } = fromModules("@aws-sdk/client-sqs");

const sqs = new SQSClient({ endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" } });
const seen = [];
const failures = [];
let deleted = 0;
let finish;
const finished = new Promise((resolve) => { finish = resolve; });

class Handlers {
  async take(message) {
    const attempt = message.Attributes.ApproximateReceiveCount;
    seen.push([JSON.parse(message.Body).text, attempt, message.MessageAttributes?.of?.StringValue ?? null]);
    if (JSON.parse(message.Body).text === "fails once" && attempt === "1") throw new Error("the first attempt fails");
  }

  async takeOrdered(messages) {
    seen.push(...messages.map((message) => [message.Body, message.Attributes.MessageGroupId]));
    return messages;
  }

  failed(error) { failures.push(error.message); }

  processed() { deleted += 1; if (deleted === 4) finish(); }

  processedBatch() { deleted += 1; if (deleted === 4) finish(); }
}

// Applies a decorator, for which TypeScript has a syntax.
function decorate(method, decorator) {
  const descriptor = Object.getOwnPropertyDescriptor(Handlers.prototype, method);
  decorator(Handlers.prototype, method, descriptor);
}
Injectable()(Handlers);
decorate("take", SqsMessageHandler("nest", false));
decorate("takeOrdered", SqsMessageHandler("nest.fifo", true));
decorate("failed", SqsConsumerEventHandler("nest", "processing_error"));
decorate("processed", SqsConsumerEventHandler("nest", "message_processed"));
decorate("processedBatch", SqsConsumerEventHandler("nest.fifo", "response_processed"));

(async () => {
  const attributes = { VisibilityTimeout: "600" };
  const create = async (QueueName, more) =>
    (await sqs.send(new CreateQueueCommand({ QueueName, Attributes: { ...attributes, ...more } }))).QueueUrl;
  const urls = { nest: await create("nest"), "nest.fifo": await create("nest.fifo", { FifoQueue: "true" }) };
  const options = (name) => ({ name, queueUrl: urls[name], region: "us-east-1", sqs });
  const receive = {
    batchSize: 10, waitTimeSeconds: 2, terminateVisibilityTimeout: true, suppressFifoWarning: true,
    attributeNames: ["All"], messageAttributeNames: ["All"],
  };
  const names = Object.keys(urls);
  class App {}
  Module({
    imports: [SqsModule.register({
      consumers: names.map((name) => ({ ...options(name), ...receive })),
      producers: names.map(options),
    })],
    providers: [Handlers],
  })(App);
  const app = await NestFactory.createApplicationContext(App, { logger: false });
  const service = app.get(SqsService);
  // One batch, so that one receive returns all messages.
  await service.send("nest.fifo", ["a1", "a2", "a1"].map((body, n) => (
    { id: String(n), body, groupId: "a", deduplicationId: body }
  )));
  await service.send("nest", [
    { id: "0", body: { text: "grüße" }, messageAttributes: { of: { DataType: "String", StringValue: "nest" } } },
    { id: "1", body: { text: "fails once" } },
    { id: "2", body: { text: "late" }, delaySeconds: 1 },
  ]);
  await finished;
  const size = await service.getProducerQueueSize("nest");
  await app.close();
  sqs.destroy();
  const standard = seen.filter((one) => one.length === 3).sort();
  console.log(JSON.stringify({ standard, fifo: seen.filter((one) => one.length === 2), failures, size }));
})();
