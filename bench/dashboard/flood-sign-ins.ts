import { parentPort, workerData } from 'node:worker_threads'
import { CSRF_HEADER } from '@shopwire/contract/dashboard'
import { Pool } from 'undici'

/** A thread of its own: what it takes to send the flood must not delay whoever is measured beside it. Each message is one burst. */
export interface FloodData {
  readonly url: string
  readonly origin: string
  readonly signIns: number
}

const { url, origin, signIns } = workerData as FloodData
const client = new Pool(url, { connections: signIns })
const visitor = await openPage()

parentPort?.on('message', async () => {
  const all = await Promise.all(Array.from({ length: signIns }, (_, n) => signIn(n)))
  parentPort?.postMessage(all)
})
parentPort?.postMessage([])

/** What a browser has once the sign-in page is open. */
async function openPage() {
  const { body, headers } = await client.request({
    method: 'GET',
    path: '/api/session',
    headers: { 'sec-fetch-site': 'same-origin' },
  })
  const { csrf_token } = (await body.json()) as { csrf_token: string }
  const cookie = [headers['set-cookie'] ?? []].flat().map((line) => line.split(';')[0])
  return { cookie: cookie.join('; '), csrf_token }
}

async function signIn(n: number): Promise<number> {
  const { statusCode, body } = await client.request({
    method: 'POST',
    path: '/api/sign-in/password',
    headers: {
      cookie: visitor.cookie,
      origin,
      'sec-fetch-site': 'same-origin',
      'content-type': 'application/json',
      [CSRF_HEADER]: visitor.csrf_token,
    },
    body: JSON.stringify({ email: `nobody${n}@example.com`, password: `wrong password ${n}` }),
  })
  await body.dump()
  return statusCode
}
