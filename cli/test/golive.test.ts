import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { cartKey, distinctCarts, unitsOf } from '../src/golive/carts.ts'
import { Emulator } from '../src/golive/emulator.ts'
import { allScenarios, type GoliveReport, junit, listText, reportText } from '../src/golive/index.ts'
import { receiver } from './support.ts'

const scenarios = allScenarios()
const docs = new URL('../../docs/', import.meta.url)

test('scenarios have distinct names for the command line and no empty text', () => {
  const ids = scenarios.map(({ id }) => id)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.length).toBeGreaterThanOrEqual(24)
  for (const { id, title, does, means, fix } of scenarios) {
    expect(id).toMatch(/^[a-z]+(-[a-z]+)*$/)
    for (const text of [title, does, means, fix]) expect(text.length).toBeGreaterThan(10)
  }
  expect(listText(scenarios).trim().split('\n')).toHaveLength(ids.length)
})

test('every scenario links to an existing page and heading', async () => {
  for (const { docs: where } of scenarios) {
    const [file = '', heading] = where.split('#')
    const headings = [...(await readFile(new URL(file, docs), 'utf8')).matchAll(/^#+ (.+)$/gm)].map(
      ([, text = '']) =>
        text
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
    )
    if (heading !== undefined) expect(headings).toContain(heading)
  }
})

test('no two purchases of a run have the same cart', () => {
  const items = [1, 2, 3].map((at) => ({ id: `${at}`, price_cents: 100 * at }))
  const carts = [...distinctCarts(items)]
  expect(new Set(carts.map(cartKey)).size).toBe(carts.length)
  expect(carts.length).toBeGreaterThan(100)
  expect(carts.slice(0, 3).map(unitsOf)).toEqual([1, 1, 1])
  expect(cartKey([{ id: '2', qty: 1 }, { id: '1' }])).toBe(cartKey([{ id: '1', qty: 1 }, { id: '2' }]))
})

test('reports are valid XML whatever the server answered', () => {
  const nasty = `<a href="x">&amp; ]]> \u0000\u001b[31m \ud800 'q'`
  const { run: _, ...scenario } = scenarios[0] ?? expect.fail()
  const result = {
    ...scenario,
    verdict: 'failed',
    duration_ms: 1234,
    reason: nasty,
    evidence: [nasty],
  } as const
  const report: GoliveReport = {
    ok: false,
    emulator: 'http://127.0.0.1:4010',
    started_at: '2026-11-15T12:00:00.000Z',
    duration_ms: 2_000,
    passed: 0,
    failed: 1,
    not_run: 1,
    results: [result, { ...result, verdict: 'not_run' }],
  }
  const xml = junit(report)
  expect(xml).toContain('message="&lt;a href=&quot;x&quot;&gt;&amp;amp; ]]&gt; \ufffd\ufffd[31m \ufffd')
  expect(xml).toContain('<skipped message="')
  expect(xml).toContain('tests="2" failures="1" errors="0" skipped="1" time="2.000"')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(xml).not.toMatch(/[\u0000-\u0008\u000b\u000c\u000e-\u001f]/)
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
  expect(reportText(report)).not.toMatch(/[\u0000-\u0008\u000b-\u001f]/)
})

test('the webhook secret is sent only to the given emulator, and redirects are not followed', async () => {
  const stranger = await receiver()
  const server = createServer((_, response) => response.writeHead(307, { location: stranger.url }).end())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const emulator = new Emulator(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  await expect(emulator.setWebhook('http://localhost:3000/hooks', 'whsec_mine')).rejects.toThrow(
    'No emulator',
  )
  expect(stranger.arrivals).toEqual([])
  server.close().closeAllConnections()
})
