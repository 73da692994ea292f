import assert from 'node:assert/strict'
import type { Store } from './store.ts'

export interface Hardening {
  readonly uid: number
  readonly capabilities: string
  readonly imageMb: number
}

/** Asks the running process itself, not the compose file: who it is, what it may do, and whether it can write where it must not. */
export async function proveHardening(store: Store, uid: number): Promise<Hardening> {
  const container = await store.containerOf('shopwire')
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
  assert.equal(await inside('touch /journal/x && rm /journal/x && echo written'), 'written\n')
  const bytes = Number(
    await store.engine.docker('image', 'inspect', '--format', '{{.Size}}', 'shopwire:latest'),
  )
  return { uid, capabilities: sets[2] ?? '', imageMb: Math.round(bytes / 1e6) }
}
