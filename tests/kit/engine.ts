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
  base: 'shopwire-kit/debian:latest',
  services: `shopwire-kit/services:${SERVICES_VERSION}`,
  app: 'shopwire:latest',
  postgres: 'postgres:18',
  postgres15: 'shopwire-kit/postgres:15',
  redis: 'redis:7',
  caddy: 'caddy:2',
  maildev: 'maildev/maildev:2.2.1',
  prometheus: 'prom/prometheus:v3.5.0',
  alertmanager: 'prom/alertmanager:v0.28.1',
  nodeExporter: 'prom/node-exporter:v1.9.1',
}
/** Each starts as the public image of the same name does. */
const STAND_INS: Partial<Record<keyof typeof IMAGES, string>> = {
  postgres: postgresFrom('/opt/postgres/native/bin'),
  postgres15: postgresFrom('/usr/lib/postgresql/15/bin'),
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
const CONTEXT = join(WORK, 'context')
// biome-ignore lint/suspicious/noTemplateCurlyInString: as it is written there
const AFTER_THE_FIRST_STAGE = 'FROM ${BASE_IMAGE}'
const HERE = fileURLToPath(new URL('.', import.meta.url))

export interface Engine {
  /** For docker and docker-compose. */
  readonly env: Readonly<Record<string, string>>
  docker(...args: string[]): Promise<string>
  /** From the text of a Dockerfile. */
  build(image: string, dockerfile: string, ...args: string[]): Promise<void>
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
    async build(image, dockerfile, ...args) {
      await writeFile(join(CONTEXT, 'Dockerfile'), dockerfile)
      await docker('build', '--quiet', '--tag', image, ...args, CONTEXT)
    },
    async stop() {
      daemon.kill()
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Those of the services once, that of Shopwire every time, by the second stage of its Dockerfile. */
export async function makeImages(engine: Engine, fresh: boolean, authority: string): Promise<void> {
  const { docker, env, build } = engine
  await rm(CONTEXT, { recursive: true, force: true })
  await mkdir(CONTEXT, { recursive: true })
  const existing = (await docker('images', '--format', '{{.Repository}}:{{.Tag}}')).split('\n')
  for (const name of ['base', 'services'] as const) {
    if (existing.includes(IMAGES[name]) && !fresh) continue
    say(`making the image ${IMAGES[name]}`)
    await run('sh', ['-c', 'tar -C "$0" -c . | docker import - "$1"', FOLDERS[name], IMAGES[name]], { env })
  }
  await cp(join(HERE, 'stand-ins'), CONTEXT, { recursive: true })
  for (const [name, lines] of Object.entries(STAND_INS))
    await build(IMAGES[name as keyof typeof IMAGES], `FROM ${IMAGES.services}\n${lines}\n`)

  await run('cp', ['-a', FOLDERS.app, join(CONTEXT, 'out')])
  await run('install', ['-m', '644', authority, join(CONTEXT, 'authority.pem')])
  // On a real host receivers have certificates of a public authority.
  const trust = 'COPY authority.pem /authority.pem\nENV NODE_EXTRA_CA_CERTS=/authority.pem\n'
  const stage = await partOf('deploy/image/Dockerfile', AFTER_THE_FIRST_STAGE, [
    'COPY --from=build /out/ /',
    'COPY out/ /',
  ])
  await build(IMAGES.app, `ARG BASE_IMAGE\n${stage}${trust}`, '--build-arg', `BASE_IMAGE=${IMAGES.base}`)
}

/** PostgreSQL with pgBackRest, by its Dockerfile, on Debian's PostgreSQL 15; returns what tells Compose so. */
export async function makeBackupImage({ build }: Engine): Promise<{ env: Record<string, string> }> {
  const dockerfile = await partOf('deploy/backup/Dockerfile', 'ARG SHOPWIRE_IMAGE', [
    'apt-get update \\\n && apt-get install -y --no-install-recommends pgbackrest \\\n && rm -rf /var/lib/apt/lists/*',
    'pgbackrest version',
  ])
  const image = 'shopwire-postgres:18'
  await build(image, dockerfile, '--build-arg', `POSTGRES_IMAGE=${IMAGES.postgres15}`)
  return { env: { POSTGRES_IMAGE: IMAGES.postgres15 } }
}

/** This release by its number, one that differs by its version, and one whose API ends at once. */
export async function makeLaterReleases({ build, docker }: Engine): Promise<void> {
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  await docker('tag', IMAGES.app, `shopwire:${version}`)
  const file = '/app/service/package.json'
  for (const [later, spoil] of [
    ['0.2.0', 'true'],
    ['0.3.0', `echo 'throw new Error("a broken release")' >/app/service/dist/api.mjs`],
  ])
    await build(
      `shopwire:${later}`,
      `FROM ${IMAGES.app}
USER 0:0
RUN sed -i 's/"version": "${version}"/"version": "${later}"/' ${file} && ${spoil}
USER 10001:10001
`,
    )
}

function postgresFrom(programs: string): string {
  return `COPY docker-entrypoint.sh /usr/local/bin/
ENV PATH=${programs}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PGDATA=/var/lib/postgresql/18/docker
ENTRYPOINT ["docker-entrypoint.sh"]`
}

/** A Dockerfile from a line on, with what needs the network replaced: that was done outside. */
async function partOf(path: string, from: string, [online, offline]: [string, string]): Promise<string> {
  const whole = await readFile(join(ROOT, path), 'utf8')
  const start = whole.indexOf(from)
  if (start < 0 || !whole.includes(online)) throw new Error(`${path} is not as expected.`)
  return whole.slice(start).replace(online, offline)
}
