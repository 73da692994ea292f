import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { freePorts, until } from '@shopwire/test-kit/servers'
import { ROOT } from './runbook.ts'

/** A message as an incoming webhook of a chat gets it. */
interface Message {
  readonly atMs: number
  readonly title: string
  readonly text: string
}

export interface Monitoring {
  /** Where the file of the backups belongs. */
  readonly textfiles: string
  /** The first message after this time that says so; its time. */
  untilFiring(alert: string, sinceMs: number, msMax: number): Promise<Message>
  untilResolved(alert: string, sinceMs: number, msMax: number): Promise<Message>
  close(): Promise<void>
}

const START_MS_MAX = 60_000

/**
 * Real Prometheus, Alertmanager and node_exporter with the kit's own files. Only the addresses in targets/ and the two files with the
 * addresses of receivers are ours, and the folder that is /etc/alertmanager in an installation.
 */
export async function startMonitoring(folder: string, targets: readonly string[]): Promise<Monitoring> {
  const config = join(folder, 'monitoring')
  const textfiles = join(folder, 'textfiles')
  await cp(join(ROOT, 'deploy/monitoring'), config, { recursive: true })
  await mkdir(textfiles)
  const messages: Message[] = []
  const receiver = await startHttpServer(async (request, response) => {
    const { attachments } = (await json(request)) as { attachments: { title: string; text: string }[] }
    for (const { title, text } of attachments) messages.push({ atMs: Date.now(), title, text })
    response.end('ok')
  })
  const [prometheus, alertmanager, node] = (await freePorts(3)) as [number, number, number]
  const target = (name: string, addresses: readonly string[]) =>
    writeFile(join(config, 'targets', name), JSON.stringify([{ targets: addresses }]))
  await target('shopwire.yml', targets)
  await target('alertmanager.yml', [`127.0.0.1:${alertmanager}`])
  await target('node.yml', [`127.0.0.1:${node}`])
  for (const name of ['page_url', 'ticket_url'])
    await writeFile(join(config, 'secrets', name), `http://127.0.0.1:${receiver.port}/${name}`)
  const file = join(config, 'alertmanager.yml')
  await writeFile(file, (await readFile(file, 'utf8')).replaceAll('/etc/alertmanager', config))

  const children = [
    // It reads the mounts of process 1, which has to be one that sees the disk of the drill.
    spawnServer('unshare', [
      ...['--pid', '--fork', '--mount-proc', '--kill-child=SIGTERM', 'prometheus-node-exporter'],
      `--web.listen-address=127.0.0.1:${node}`,
      `--collector.textfile.directory=${textfiles}`,
    ]),
    spawnServer('prometheus-alertmanager', [
      `--config.file=${file}`,
      `--storage.path=${join(folder, 'alertmanager')}`,
      `--web.listen-address=127.0.0.1:${alertmanager}`,
      '--cluster.listen-address=',
    ]),
    spawnServer('prometheus', [
      `--config.file=${join(config, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'prometheus')}`,
      `--web.listen-address=127.0.0.1:${prometheus}`,
    ]),
  ]
  for (const port of [prometheus, alertmanager]) await untilReady(`http://127.0.0.1:${port}/-/ready`)

  const untilMessage = (pattern: RegExp, sinceMs: number, msMax: number) =>
    until(
      () => messages.find(({ atMs, title }) => atMs >= sinceMs && pattern.test(title)),
      msMax,
      () => `no message ${pattern}; there were ${messages.map(({ title }) => title).join(', ')}`,
    )
  return {
    textfiles,
    untilFiring: (alert, ...rest) => untilMessage(new RegExp(`^(page|ticket): ${alert} `), ...rest),
    untilResolved: (alert, ...rest) => untilMessage(new RegExp(`^resolved: ${alert} `), ...rest),
    async close() {
      await Promise.all(children.map(end))
      await receiver.close()
    },
  }
}

function spawnServer(command: string, args: readonly string[]): ChildProcess {
  return spawn(command, args, { stdio: 'ignore' })
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  // unshare ignores SIGTERM and passes its own end on.
  child.kill(child.spawnfile === 'unshare' ? 'SIGKILL' : 'SIGTERM')
  await closed
}

const untilReady = (url: string) =>
  until(
    () =>
      fetch(url).then(
        ({ ok }) => ok,
        () => false,
      ),
    START_MS_MAX,
    () => `${url} does not answer`,
  )
