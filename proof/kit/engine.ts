import { spawn } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { attempt, run, say } from './command.ts'
import { FOLDERS, ROOT, SERVICES_VERSION, WORK } from './root-folders.ts'

export const IMAGES = {
  base: 'shopwire-proof/debian:latest',
  services: `shopwire-proof/services:${SERVICES_VERSION}`,
  app: 'shopwire:latest',
  postgres: 'postgres:18',
  redis: 'redis:7',
  caddy: 'caddy:2',
  maildev: 'maildev/maildev:2.2.1',
  prometheus: 'prom/prometheus:v3.5.0',
  alertmanager: 'prom/alertmanager:v0.28.1',
  nodeExporter: 'prom/node-exporter:v1.9.1',
}
/** Each starts as the public image of the same name does. */
const STAND_INS: Partial<Record<keyof typeof IMAGES, string>> = {
  postgres: 'COPY docker-entrypoint.sh /usr/local/bin/\nENTRYPOINT ["docker-entrypoint.sh"]',
  redis: 'USER redis\nCMD ["redis-server"]',
  caddy:
    'ENV XDG_CONFIG_HOME=/config XDG_DATA_HOME=/data\nCMD ["caddy", "run", "--config", "/etc/caddy/Caddyfile", "--adapter", "caddyfile"]',
  maildev: 'USER nobody\nENTRYPOINT ["node", "/opt/maildev/node_modules/maildev/bin/maildev"]',
  prometheus:
    'RUN mkdir /prometheus && chown 65534:65534 /prometheus\nUSER 65534:65534\nWORKDIR /prometheus\nENTRYPOINT ["prometheus"]\nCMD ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/prometheus"]',
  alertmanager:
    'RUN mkdir /alertmanager && chown 65534:65534 /alertmanager\nUSER 65534:65534\nWORKDIR /alertmanager\nENTRYPOINT ["prometheus-alertmanager"]\nCMD ["--config.file=/etc/alertmanager/alertmanager.yml", "--storage.path=/alertmanager"]',
  nodeExporter: 'USER 65534:65534\nENTRYPOINT ["prometheus-node-exporter"]',
}
const START_MS_MAX = 60_000
const HERE = fileURLToPath(new URL('.', import.meta.url))

export interface Engine {
  /** For docker and docker-compose. */
  readonly env: Readonly<Record<string, string>>
  docker(...args: string[]): Promise<string>
  stop(): Promise<void>
}

/** Debian's Docker engine in the network namespace of this process. Its images are kept between runs. */
export async function startEngine(): Promise<Engine> {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-kit-'))
  const socket = `unix://${folder}/docker.sock`
  const log = createWriteStream(join(WORK, 'dockerd.log'))
  const daemon = spawn(
    'dockerd',
    [
      '--host',
      socket,
      '--data-root',
      join(WORK, 'docker'),
      '--exec-root',
      join(folder, 'exec'),
      '--pidfile',
      join(folder, 'pid'),
    ],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  )
  daemon.stdout.pipe(log)
  daemon.stderr.pipe(log)
  const ended = new Promise<void>((resolve) => daemon.once('exit', () => resolve()))
  const env = { DOCKER_HOST: socket, DOCKER_BUILDKIT: '0' }
  const docker = (...args: string[]) => run('docker', args, { env })
  const deadlineMs = performance.now() + START_MS_MAX
  while ((await attempt('docker', ['version'], { env })).code !== 0) {
    if (daemon.exitCode !== null || performance.now() > deadlineMs) {
      daemon.kill()
      throw new Error(`The Docker engine does not start; ${join(WORK, 'dockerd.log')} says why.`)
    }
    await sleep(200)
  }
  return {
    env,
    docker,
    async stop() {
      daemon.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Those of the services once, that of Shopwire every time, by the second stage of its Dockerfile. */
export async function makeImages({ docker, env }: Engine, fresh: boolean): Promise<void> {
  const context = join(WORK, 'context')
  await rm(context, { recursive: true, force: true })
  await mkdir(context, { recursive: true })
  const existing = (await docker('images', '--format', '{{.Repository}}:{{.Tag}}')).split('\n')
  for (const name of ['base', 'services'] as const) {
    if (existing.includes(IMAGES[name]) && !fresh) continue
    say(`making the image ${IMAGES[name]}`)
    await run('sh', ['-c', 'tar -C "$0" -c . | docker import - "$1"', FOLDERS[name], IMAGES[name]], { env })
  }
  await cp(join(HERE, 'stand-ins'), context, { recursive: true })
  for (const [name, lines] of Object.entries(STAND_INS))
    await build(IMAGES[name as keyof typeof IMAGES], `FROM ${IMAGES.services}\n${lines}\n`)

  await rm(join(context, 'out'), { recursive: true, force: true })
  await run('cp', ['-a', FOLDERS.app, join(context, 'out')])
  await build(IMAGES.app, await secondStage(), '--build-arg', `BASE_IMAGE=${IMAGES.base}`)

  async function build(image: string, dockerfile: string, ...args: string[]): Promise<void> {
    await writeFile(join(context, 'Dockerfile'), dockerfile)
    await docker('build', '--quiet', '--tag', image, ...args, context)
  }
}

/** The Dockerfile without its first stage, whose result was made outside: it needs the package registry. */
async function secondStage(): Promise<string> {
  const whole = await readFile(join(ROOT, 'deploy/image/Dockerfile'), 'utf8')
  // biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written there
  const start = whole.indexOf('FROM ${BASE_IMAGE}')
  const stage = whole.slice(start).replace('COPY --from=build /out/ /', 'COPY out/ /')
  if (start < 0 || !stage.includes('COPY out/ /'))
    throw new Error('The Dockerfile has no second stage as expected.')
  return `ARG BASE_IMAGE\n${stage}`
}
