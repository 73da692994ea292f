import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { signedHeaders } from '@shopwire/test-kit/requests/signed-request'
import { until } from '@shopwire/test-kit/servers'
import { expect } from 'vitest'
import { HERE, ITEM, SOON_MS, test } from './rig.ts'

// Threat 67: a dependency of the API turns hostile and tries to send something out.

const PAGE = new URL('../../../docs/self-hosting/network.md', import.meta.url)
const UID = 54_321
const hasNft = spawnSync('nft', ['--version']).status === 0
if (!hasNft) process.stderr.write('SKIPPED: no nft here; the outbound rules of the API were not tested.\n')

test.skipIf(!hasNft)(
  'under the rules of the docs the API answers and looks up names, and a module inside it reaches no other server',
  async ({ rig, onTestFinished }) => {
    let reached = 0
    const outside = createServer((socket) => {
      reached += 1
      socket.destroy()
    })
    outside.listen(0, HERE)
    await once(outside, 'listening')
    onTestFinished(() => void outside.close())
    const hostile = `import { connect } from 'node:net'
      setInterval(() => {
        const say = (what) => process.stderr.write('hostile ' + what + ';')
        const socket = connect(${(outside.address() as AddressInfo).port}, '${HERE}', () => { say('got out'); socket.destroy() })
        socket.on('error', ({ code }) => say(code))
      }, 50).unref()`
    const api = await rig.system.startApi(
      { NODE_COMPILE_CACHE: '' },
      { uid: UID, nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(hostile)}`] },
    )
    onTestFinished(async () => void (await api.kill('SIGTERM')))
    const said = (what: string) => api.logs().split(`hostile ${what};`).length - 1
    await until(
      () => said('got out') > 0,
      SOON_MS,
      () => 'the module does not even get out without rules',
    )

    nft(rulesFor(new URL(rig.system.database.processUrls.api)))
    onTestFinished(() => nft('delete table inet shopwire_api'))
    await until(
      () => said('ECONNREFUSED') > 0,
      SOON_MS,
      () => 'the rules refuse nothing',
    )
    const reachedBefore = reached
    const refusedBefore = said('ECONNREFUSED')

    const { key } = await rig.openAccount()
    const ask = async (method: string, target: string, body?: object) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const headers = signedHeaders(key, method, target, text)
      const json = { headers: { 'content-type': 'application/json', ...headers }, body: text }
      return (await fetch(`${api.url}${target}`, { method, ...(body ? json : { headers }) })).status
    }
    expect(await ask('POST', '/v1/quote', { items: [{ id: ITEM, qty: 1 }] })).toBe(200)
    rig.dns.set('limited.example.net', [HERE])
    expect(await ask('POST', '/v1/webhook', { url: 'https://limited.example.net/hook' })).toBe(200)
    expect(rig.dns.lookUps('limited.example.net')).toBeGreaterThan(0)
    expect(await ask('DELETE', '/v1/webhook')).toBe(200)

    await until(
      () => said('ECONNREFUSED') >= refusedBefore + 10,
      SOON_MS,
      () => 'the module does not try any more',
    )
    expect(reached).toBe(reachedBefore)
  },
)

test('all invariants hold after the test above', ({ rig }) => rig.expectAllHolds())

/** Those of the page, with the user and the addresses of this machine. */
function rulesFor(database: URL): string {
  const block = /```nft\n([^`]+)```/.exec(readFileSync(PAGE, 'utf8'))?.[1] ?? ''
  expect(block).toContain('10.0.0.5 tcp dport 5432')
  return block
    .replace('"shopwire-api"', String(UID))
    .replace('10.0.0.5 tcp dport 5432', `127.0.0.1 tcp dport ${database.port}`)
    .replaceAll('10.0.0.53', '127.0.0.1')
}

function nft(commands: string): void {
  const { status, stderr } = spawnSync('nft', ['-f', '-'], { input: commands, encoding: 'utf8' })
  expect(status, stderr).toBe(0)
}
