import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'

/**
 * /readyz and /metrics listen on the loopback address by default. Whatever is probed or scraped from another container, pod or machine has to
 * say so in the file that starts it; what is probed on the same machine must not open more than that.
 */
const DEPLOY = fileURLToPath(new URL('../', import.meta.url))
const OPEN = '0.0.0.0'
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8')

test('every container that Prometheus of the compose file scrapes opens its health port, and none publishes it', () => {
  const { services } = parse(read('compose/compose.yaml'), { merge: true }) as {
    services: Record<string, { environment?: Record<string, string>; ports?: string[] }>
  }
  const [{ targets }] = parse(read('monitoring/targets/shopwire.yml')) as [{ targets: string[] }]
  expect(targets.length).toBeGreaterThan(0)
  for (const target of targets) {
    const [name = '', port] = target.split(':')
    expect(services[name]?.environment?.SHOPWIRE_HEALTH_HOST, name).toBe(OPEN)
    for (const published of services[name]?.ports ?? [])
      expect(published).not.toMatch(new RegExp(`:${port}$`))
  }
})

test('every pod with probes opens its health port to the kubelet', () => {
  const containers = parseAllDocuments(read('kubernetes/base/shopwire.yaml')).flatMap(
    (document) => document.toJS()?.spec?.template?.spec?.containers ?? [],
  ) as {
    name: string
    env?: { name: string; value?: string }[]
    readinessProbe?: object
    livenessProbe?: object
    startupProbe?: object
  }[]
  const probed = containers.filter(
    ({ readinessProbe, livenessProbe, startupProbe }) => readinessProbe ?? livenessProbe ?? startupProbe,
  )
  expect(probed.map(({ name }) => name).sort()).toEqual(['api', 'dashboard', 'worker'])
  for (const { name, env = [] } of probed)
    expect(
      env.filter((one) => one.name === 'SHOPWIRE_HEALTH_HOST').map(({ value }) => value),
      name,
    ).toEqual([OPEN])
})

test('programs under systemd stay at the loopback address, where the proxy and the upgrade script ask them', () => {
  const units = globSync(join(DEPLOY, 'systemd/*.service')).map((path) => readFileSync(path, 'utf8'))
  const hosts = units.flatMap((unit) => unit.match(/(?<=SHOPWIRE_HEALTH_HOST=)\S+/g) ?? [])
  expect(new Set(hosts)).toEqual(new Set(['127.0.0.1']))
  const checked = read('proxy/haproxy.cfg').match(/^ {2}server \S+ \S+/gm) ?? []
  expect(checked.length).toBeGreaterThan(0)
  for (const server of checked) expect(server).toMatch(/ 127\.0\.0\.1:/)
})
