// Drives BullMQ with the protocol of benchmarks/peers/driver.py: an order as the argument, "ready", a line to begin,
// "finished", a line to end, and one line of JSON.
const readline = require('readline');
const { Queue, Worker } = require(process.env.BULLMQ_FOLDER + '/node_modules/bullmq');

const order = JSON.parse(process.argv[2]);
const lines = readline.createInterface({ input: process.stdin });
const nextLine = () => new Promise((resolve) => lines.once('line', resolve));
const seconds = () => Number(process.hrtime.bigint()) / 1e9;
const connection = { host: '127.0.0.1', port: order.port, maxRetriesPerRequest: null };
const done = { removeOnComplete: true, removeOnFail: true };
const record = { sent: [], received: [], call_seconds: [], send_seconds: 0, receive_seconds: 0, cpu_seconds: 0 };
let left = order.to_send;

async function sendAll(queue, began) {
  while (left > 0) {
    const count = Math.min(left, order.size || 1 + Math.floor(Math.random() * 10));
    left -= count;
    const start = seconds();
    if (count === 1) {
      record.sent.push((await queue.add('job', { body: order.body }, done)).id);
    } else {
      const jobs = Array.from({ length: count }, () => ({ name: 'job', data: { body: order.body }, opts: done }));
      for (const job of await queue.addBulk(jobs)) record.sent.push(job.id);
    }
    const now = seconds();
    record.call_seconds.push(now - start);
    record.send_seconds = now - began;
  }
}

async function received(worker, began) {
  let last = seconds();
  worker.on('completed', (job) => {
    record.received.push(job.id);
    last = seconds();
    record.receive_seconds = last - began;
  });
  worker.run();
  while (record.received.length < order.to_receive && seconds() - Math.max(last, began + record.send_seconds) < order.stall_seconds) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

async function main() {
  const queues = [];
  for (let n = 0; n < order.senders; n++) {
    queues.push(new Queue(order.queue, { connection }));
    await queues[n].waitUntilReady();
  }
  let worker = null;
  if (order.to_receive) {
    const concurrency = order.receivers * Math.max(1, order.size || 10);
    worker = new Worker(order.queue, async () => {}, { connection, concurrency, autorun: false });
    await worker.waitUntilReady();
  }
  console.log('ready');
  await nextLine();
  const began = seconds();
  const before = process.cpuUsage();
  await Promise.all([...queues.map((queue) => sendAll(queue, began)), ...(worker ? [received(worker, began)] : [])]);
  const used = process.cpuUsage(before);
  record.cpu_seconds = (used.user + used.system) / 1e6;
  console.log('finished');
  await nextLine();
  if (worker) await worker.close();
  for (const queue of queues) await queue.close();
  // To a pipe Node writes later, and an exit would cut it after 64 KiB.
  process.stdout.write(JSON.stringify(record) + '\n', () => process.exit(0));
}

main().catch((error) => { console.error(error); process.exit(1); });
