import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { requestHeaders } from '@shopwire/contract'
import { signRequest } from '@shopwire/contract/signing'
import { chromium } from 'playwright-core'

/**
 * Takes docs/images/emulator-page.png, the screenshot in the README: starts the emulator, sends a few requests, one of them with
 * a wrong signature, and photographs its page in headless Chromium. Nothing secret is in the picture: the page masks the key's
 * secret, and gift links only appear in the details of an order, which is not open.
 */
const CHROMIUM = process.env.SHOPWIRE_CHROMIUM ?? '/usr/bin/chromium'
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const TARGET = `${ROOT}docs/images/emulator-page.png`
const PORT = '4010'
const SIZE = { width: 1280, height: 730 }
const ITEM = '1144058340327047001'
const KEY = 'purchase-2041'

interface Ready {
  readonly url: string
  readonly key: { readonly id: string; readonly secret: string }
}

const emulator = spawn(process.execPath, ['emulator/bin/emulator.ts', '--json', '--port', PORT], {
  cwd: ROOT,
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const store = await readyLine()
  await control(store, 'webhook', { url: `${store.url}/_emulator/inbox` })
  await send(store, 'GET', '/v1/ping')
  await send(store, 'GET', '/v1/balance')
  await send(store, 'GET', '/v1/catalogue?limit=25')
  const items = [{ id: ITEM, qty: 2, expected_price_cents: 499 }]
  await send(store, 'POST', '/v1/quote', { items })
  await send(store, 'POST', '/v1/orders', { items, idempotency_key: KEY })
  await send(store, 'POST', '/v1/orders', { items, idempotency_key: KEY })
  await send(store, 'GET', '/v1/orders?limit=10')
  await send(store, 'GET', '/v1/orders?limit=10', undefined, '/orders?limit=10')
  const { last } = await read<{ last: number }>(store, 'requests')
  await photograph(`${store.url}/?open=${last}`)
  process.stdout.write(`${TARGET}\n`)
} finally {
  emulator.kill('SIGTERM')
}

async function photograph(address: string): Promise<void> {
  const browser = await chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox'] })
  try {
    const page = await browser.newPage({ viewport: SIZE, colorScheme: 'light' })
    await page.goto(address)
    await page.locator('.connection.live').waitFor()
    await page.locator('.mistake').waitFor()
    await page.screenshot({ path: TARGET, animations: 'disabled' })
  } finally {
    await browser.close()
  }
}

async function readyLine(): Promise<Ready> {
  for await (const line of createInterface({ input: emulator.stdout })) {
    const ready = JSON.parse(line) as { base_url: string; key: Ready['key'] }
    return { url: new URL(ready.base_url).origin, key: ready.key }
  }
  throw new Error('the emulator ended before it was ready; its own message is above')
}

async function send(
  { url, key }: Ready,
  method: string,
  target: string,
  content?: object,
  signedTarget = target,
): Promise<void> {
  const body = Buffer.from(content ? JSON.stringify(content) : '')
  const timestamp = String(Math.floor(Date.now() / 1000))
  const nonce = randomBytes(16).toString('hex')
  const headers = {
    [requestHeaders.key]: key.id,
    [requestHeaders.timestamp]: timestamp,
    [requestHeaders.nonce]: nonce,
    [requestHeaders.signature]: signRequest(key.secret, {
      method,
      target: signedTarget,
      timestamp,
      nonce,
      body,
    }),
  }
  await fetch(url + target, { method, headers, ...(content && { body }) })
}

async function control({ url }: Ready, path: string, content: object): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  await fetch(`${url}/_emulator/${path}`, { method: 'POST', headers, body: JSON.stringify(content) })
}

async function read<T>({ url }: Ready, path: string): Promise<T> {
  return (await (await fetch(`${url}/_emulator/${path}`)).json()) as T
}
