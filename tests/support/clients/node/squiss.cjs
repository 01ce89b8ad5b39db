// Uses squiss-ts to create a queue, to send messages singly and in batches, and to poll. Prints the results as JSON.
// Arguments: the folder that contains node_modules, the service's address. squiss-ts cannot create FIFO queues, so
// squiss.fifo must exist.
const { createRequire } = require("node:module");

const [, , modules, endpoint] = process.argv;
const { Squiss } = createRequire(`${modules}/`)("squiss-ts");

const common = {
  awsConfig: { endpoint, region: "us-east-1", credentials: { accessKeyId: "x", secretAccessKey: "x" } },
  bodyFormat: "json", receiveWaitTimeSecs: 2, deleteWaitMs: 1, activePollIntervalMs: 1, idlePollIntervalMs: 1,
  receiveSqsAttributes: ["All"],
};

// Polls until `count` messages are deleted.
function poll(squiss, count, take) {
  return new Promise((resolve, reject) => {
    let left = count;
    squiss.on("message", take);
    squiss.on("deleted", async () => { left -= 1; if (left === 0) resolve(await squiss.stop()); });
    squiss.on("error", reject);
    squiss.on("delError", reject);
    squiss.start();
  });
}

async function standard() {
  const squiss = new Squiss({ ...common, queueName: "squiss", visibilityTimeoutSecs: 600, maxInFlight: 10 });
  await squiss.createQueue();
  await squiss.sendMessage({ text: "grüße" }, 0, { of: "squiss", number: 7 });
  const bodies = Array.from({ length: 12 }, (_, number) => ({ text: `message ${number}` }));
  const { Successful, Failed } = await squiss.sendMessages(bodies, 1);
  const seen = [];
  await poll(squiss, 13, async (message) => {
    const attempt = message.sqsAttributes.ApproximateReceiveCount;
    seen.push([message.body.text, attempt, message.attributes.of ?? null, message.attributes.number ?? null]);
    if (message.body.text === "grüße" && attempt === "1") {
      await message.changeVisibility(60);
      await message.release();
    } else {
      message.del();
    }
  });
  // The delay keeps the message from a cancelled poll that a function still answers.
  await squiss.sendMessage({ text: "left" }, 900);
  return {
    sent: [Successful.length, Failed.length],
    batched: seen.filter(([text]) => text.startsWith("message ")).length,
    alone: seen.filter(([text]) => text === "grüße"),
    bytes: await squiss.getQueueMaximumMessageSize(),
  };
}

async function fifo() {
  const squiss = new Squiss({ ...common, queueName: "squiss.fifo", bodyFormat: "plain" });
  for (const body of ["a1", "a2", "a1"]) {
    await squiss.sendMessage(body, undefined, { FIFO_MessageGroupId: "a", FIFO_MessageDeduplicationId: body });
  }
  const seen = [];
  await poll(squiss, 2, (message) => { seen.push([message.body, message.sqsAttributes.MessageGroupId]); message.del(); });
  return seen;
}

(async () => {
  console.log(JSON.stringify({ standard: await standard(), fifo: await fifo() }));
})();
