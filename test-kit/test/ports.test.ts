import { createServer } from 'node:net'
import { expect, test } from 'vitest'
import { freePort, freePorts } from '../servers/index.ts'
import { launchOnPort, PortTaken } from '../servers/network/ports.ts'

test('ports are distinct, free and outside the range of outgoing connections', async () => {
  const ports = await freePorts(50)
  expect(new Set(ports).size).toBe(50)
  expect(ports.every((port) => port >= 10_240 && port < 32_768)).toBe(true)
})

test('a port is never returned twice, even when nothing listens on it yet', async () => {
  const first = new Set(await freePorts(200))
  const second = await freePorts(200)
  expect(second.filter((port) => first.has(port))).toEqual([])
})

test('when another process takes the chosen port first, another one is chosen', async () => {
  const taken: number[] = []
  const port = await launchOnPort(undefined, freePort, async (candidate) => {
    if (taken.push(candidate) < 3) throw new PortTaken(candidate)
  })
  expect(new Set(taken).size).toBe(3)
  expect(port).toBe(taken[2])
})

test('waits for a port that becomes free soon', async () => {
  const port = await freePort()
  const leaving = createServer().listen(port, '127.0.0.1')
  setTimeout(() => leaving.close(), 200)
  await expect(launchOnPort(port, freePort, async () => {})).resolves.toBe(port)
})
