import assert from 'node:assert/strict'
import type { Store } from './store.ts'

export interface Hardening {
  readonly uid: number
  readonly capabilities: string
  readonly imageMb: number
}

/** The secrets of compose that each container is given. */
const SECRETS = {
  api: ['api_url', 'encryption_keys', 'redis_url'],
  worker: ['encryption_keys', 'redis_url', 'smtp_url', 'worker_url'],
  dashboard: ['dashboard_url', 'encryption_keys', 'redis_url'],
} as const

/** Asks the running processes themselves, not the compose file: who they are, what they may do, and whether they can write where they must not. */
export async function proveHardening(store: Store, uid: number): Promise<Hardening> {
  let capabilities = ''
  for (const [service, secrets] of Object.entries(SECRETS))
    capabilities = await proveContainer(store, service, secrets, uid)
  const logins = await store.query(
    `select string_agg(distinct application_name || ' ' || usename, ',' order by application_name || ' ' || usename)
       from pg_stat_activity where application_name like 'shopwire-%'`,
  )
  assert.equal(
    logins,
    'shopwire-api shopwire_api,shopwire-dashboard shopwire_web,shopwire-worker shopwire_worker',
    'each process signs in as itself',
  )
  const bytes = Number(
    await store.engine.docker('image', 'inspect', '--format', '{{.Size}}', 'shopwire:latest'),
  )
  return { uid, capabilities, imageMb: Math.round(bytes / 1e6) }
}

async function proveContainer(
  store: Store,
  service: string,
  secrets: readonly string[],
  uid: number,
): Promise<string> {
  const container = await store.containerOf(service)
  const inside = (script: string) => store.engine.docker('exec', container, 'sh', '-c', script)
  const status = await inside('cat /proc/1/status')
  const field = (name: string) => new RegExp(`^${name}:\\s*(.*)$`, 'm').exec(status)?.[1] ?? ''
  assert.deepEqual(field('Uid').split(/\s+/), Array(4).fill(String(uid)))
  assert.deepEqual(field('Gid').split(/\s+/), Array(4).fill(String(uid)))
  const sets = ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map(field)
  assert.deepEqual(sets, Array(5).fill('0000000000000000'))
  assert.equal(field('NoNewPrivs'), '1')
  assert.equal(field('Seccomp'), '2', 'the filter of the engine is on')
  // As the user of the container; "/" itself would refuse that user on a writable root too, so the mount is looked at as well.
  const mounts = await inside('cat /proc/1/mounts')
  const root = mounts.split('\n').find((line) => line.split(' ')[1] === '/') ?? ''
  assert.match(root.split(' ')[3] ?? '', /^ro(,|$)/)
  for (const folder of ['/', '/app', '/tmp', '/var/tmp', '/home'])
    assert.match(await inside(`touch ${folder}/x 2>&1 || true`), /Read-only file system/)
  assert.deepEqual((await inside('ls /run/secrets')).trim().split(/\s+/).sort(), secrets)
  const journal = await inside('touch /journal/x 2>/dev/null && rm /journal/x && echo written || true')
  assert.equal(journal, service === 'worker' ? 'written\n' : '', 'the journal is the worker’s')
  return sets[2] ?? ''
}
