import { parseArgs } from 'node:util'
import { makeHistory } from './history.ts'
import { DEMO_PASSWORD } from './people.ts'

/**
 * Fills an empty development store with the demo history, and prints who its people are and their password. It runs as a process of its own, with the
 * store's settings for operators and the URLs of the API and the worker in its environment, so that tests and tools can use it like any other program.
 */
const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    pace: { type: 'string', default: '1' },
    'lantern-webhook': { type: 'string', default: 'https://hooks.lantern.example/shopwire' },
    'kestrel-webhook': { type: 'string', default: 'https://hooks.kestrel.example/shopwire' },
  },
})
const startedMs = performance.now()
const history = await makeHistory({
  env: process.env,
  apiUrl: process.env.DEMO_API_DATABASE_URL ?? '',
  workerUrl: process.env.DEMO_WORKER_DATABASE_URL ?? '',
  seed: Number(values.seed),
  pace: Number(values.pace),
  endMs: Date.now(),
  webhookUrls: { lantern: values['lantern-webhook'], kestrel: values['kestrel-webhook'] },
  onProgress: (share) => process.stderr.write(`${Math.round(100 * Math.min(1, share))} %\n`),
})
process.stderr.write(`made in ${((performance.now() - startedMs) / 1000).toFixed(1)} s\n`)
process.stdout.write(`${JSON.stringify({ ...history, password: DEMO_PASSWORD })}\n`)
