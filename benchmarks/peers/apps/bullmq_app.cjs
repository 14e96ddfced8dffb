// BullMQ: flows. `node bullmq_app.cjs worker` is a worker, `node bullmq_app.cjs` the client; both speak as work.py does.
// A job of a flow has one parent only, so a layer that follows a join cannot be drawn beforehand: the join adds it.
const { FlowProducer, Queue, QueueEvents, Worker } = require('bullmq');
const readline = require('node:readline');

const PRIME = 9973;
const QUEUE = 'main';
const CONCURRENCY = 10;
const { hostname, port } = new URL(process.env.REDIS_URL);
const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };

const checksum = (xs) => xs.reduce((a, b) => a + b, 0) % PRIME;

function layerOf(x, left, width, last) {
  const children = Array.from({ length: width }, (_, i) => ({ name: 'step', queueName: QUEUE, data: { x, i } }));
  const opts = left === 1 ? { jobId: last } : {};
  return { name: 'join', queueName: QUEUE, data: { left: left - 1, width, last }, opts, children };
}

async function work() {
  const flows = new FlowProducer({ connection });
  const worker = new Worker(QUEUE, async (job) => {
    const { x, i, left, width, last, inner } = job.data;
    if (job.name === 'step') {
      const [before] = inner ? Object.values(await job.getChildrenValues()) : [x];
      return before + i + 1;
    }
    const joined = checksum(Object.values(await job.getChildrenValues()));
    if (left) await flows.add(layerOf(joined, left, width, last));
    return joined;
  }, { connection, concurrency: CONCURRENCY });
  worker.on('error', (error) => console.error(error));
}

async function client() {
  const flows = new FlowProducer({ connection });
  const queue = new Queue(QUEUE, { connection });
  // From the beginning: by default it would miss what ends before its first read is under way.
  const events = new QueueEvents(QUEUE, { connection, lastEventId: '0-0' });
  await events.waitUntilReady();
  const finished = new Map();
  let told = () => {};
  events.on('completed', ({ jobId, returnvalue }) => { finished.set(jobId, Number(returnvalue)); told(); });
  let runs = 0;

  const until = (ready) => new Promise((resolve) => {
    told = () => { if (ready()) { told = () => {}; resolve(); } };
    told();
  });
  const lastOf = async (id) => { await until(() => finished.has(id)); return finished.get(id); };
  const layered = async (layers, width) => {
    const last = `last-${process.pid}-${++runs}`;
    await flows.add(layerOf(0, layers, width, last));
    return lastOf(last);
  };
  const workloads = {
    async flood(count) {
      finished.clear();
      const jobs = Array.from({ length: count }, (_, i) => ({ name: 'step', data: { x: 0, i } }));
      const added = await queue.addBulk(jobs);
      await until(() => finished.size >= count);
      return checksum(added.map((job) => finished.get(job.id)));
    },
    async chain(length) {
      let node = { name: 'step', queueName: QUEUE, data: { x: 0, i: 0 } };
      for (let n = 1; n < length; n++) {
        node = { name: 'step', queueName: QUEUE, data: { i: 0, inner: true }, children: [node] };
      }
      const { job } = await flows.add(node);
      return lastOf(job.id);
    },
    chord: (width) => layered(1, width),
    layered,
  };
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const { workload, sizes } = JSON.parse(line);
    const began = process.hrtime.bigint();
    const answer = await workloads[workload](...sizes);
    const seconds = Number(process.hrtime.bigint() - began) / 1e9;
    console.log(JSON.stringify({ seconds, answer }));
  }
  process.exit(0);
}

(process.argv[2] === 'worker' ? work() : client());
