// A deterministic tour through what makes Node allocate outside of its own heap; prints one line a stage.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('node:worker_threads');
const { createHash } = require('node:crypto');
const zlib = require('node:zlib');

function generator(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

const digest = (data) => createHash('sha256').update(data).digest('hex');

function documents(seed) {
  const random = generator(seed);
  return Array.from({ length: 8000 }, (_, id) => ({
    id,
    name: `item-${random(1e6)}`,
    tags: Array.from({ length: random(12) }, () => `t${random(50)}`),
    nested: { list: [random(10), [random(10), { deep: 'x'.repeat(random(300)) }]] },
  }));
}

function jsonRounds(seed) {
  let data = documents(seed);
  let text = '';
  for (let round = 0; round < 4; round++) {
    text = JSON.stringify(data, null, 1);
    data = JSON.parse(text).sort((a, b) => a.tags.length - b.tags.length || a.id - b.id);
  }
  return digest(text);
}

function buffers(seed) {
  const random = generator(seed);
  const live = new Array(300);
  const hash = createHash('sha256');
  for (let step = 0; step < 40000; step++) {
    const slot = random(live.length);
    if (live[slot]) hash.update(live[slot].subarray(0, 16));
    live[slot] = Buffer.allocUnsafeSlow(random(step % 50 === 0 ? 500000 : 5000) + 16).fill(step & 255);
  }
  return hash.digest('hex');
}

async function compressed(seed) {
  const text = Buffer.from(JSON.stringify(documents(seed)));
  const results = await Promise.all([1, 6, 9].map((level) => new Promise((resolve, reject) => {
    zlib.gzip(text, { level }, (error, packed) => {
      if (error) reject(error);
      else zlib.gunzip(packed, (failed, plain) => (failed ? reject(failed) : resolve(digest(plain))));
    });
  })));
  return results.join(' ');
}

const inWorker = (seed) => new Promise((resolve, reject) => {
  const worker = new Worker(__filename, { workerData: seed });
  worker.once('message', resolve);
  worker.once('error', reject);
});

async function main() {
  console.log('json', jsonRounds(1));
  console.log('buffers', buffers(2));
  console.log('zlib', await compressed(3));
  for (const line of await Promise.all([4, 5, 6].map(inWorker))) console.log('worker', line);
}

if (isMainThread) main();
else parentPort.postMessage(`${workerData} ${jsonRounds(workerData)} ${buffers(workerData)}`);
