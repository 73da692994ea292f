import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import {
  canMakePublicNetwork,
  type createAuthority,
  freePort,
  NO_PUBLIC_NETWORK,
  PUBLIC_ADDRESSES,
  runAgainInPublicNetwork,
} from '@shopwire/test-kit/servers'
import { startScript } from '@shopwire/test-kit/systems'
import type { BenchSystem } from '../shared/bench-system.ts'

export interface Receiver {
  readonly url: string
  /** What came since the last time it was asked. */
  count(): Promise<{ received: number; firstMs: number; lastMs: number; waitsMs: number[] }>
}

const RECEIVER = fileURLToPath(new URL('./receiver.ts', import.meta.url))

/** Events go to public addresses only, so the whole bench runs where some of them are this machine. */
export async function benchAgainInPublicNetwork(): Promise<void> {
  if (!canMakePublicNetwork()) {
    throw Object.assign(new Error(NO_PUBLIC_NETWORK), {
      code: 'CANNOT_BEGIN',
    })
  }
  process.exitCode = await runAgainInPublicNetwork()
}

export async function startReceiver(
  system: BenchSystem,
  authority: Awaited<ReturnType<typeof createAuthority>>,
): Promise<Receiver> {
  const { folder } = system
  const [address] = PUBLIC_ADDRESSES
  const { key, cert } = await authority.issue(`IP:${address}`)
  writeFileSync(`${folder}/key.pem`, key)
  writeFileSync(`${folder}/cert.pem`, cert)
  const [port, controlPort] = [await freePort(), await freePort()]
  const control = `http://127.0.0.1:${controlPort}/`
  const args = [folder, address, String(port), String(controlPort)]
  system.owns(await startScript(RECEIVER, args, { readyUrl: control }))
  return {
    url: `https://${address}:${port}`,
    count: async () => (await fetch(control)).json() as ReturnType<Receiver['count']>,
  }
}
