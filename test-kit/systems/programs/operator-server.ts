import { once } from 'node:events'
import { limitConcurrency } from './limit-concurrency.ts'
import { type Ended, PROGRAM_MS_MAX, type Settings, spawnOperatorServer } from './program.ts'
import { timed } from './starts.ts'

/** Each has connections of its own to the database, of which a server has 200; some tests have a dozen of them race. */
const COMMANDS_MAX = 24
const GONE: Ended = { code: null, stdout: '', stderr: 'the process that runs the commands has ended' }

/** Runs commands of the admin program in one process that stays, with the settings as they are when a command begins. */
export interface OperatorServer {
  run(...args: string[]): Promise<Ended>
  /** A command after it starts another process. */
  close(): Promise<void>
}

interface Running {
  run(args: readonly string[]): Promise<Ended>
  /** Once its commands have ended. */
  end(): Promise<void>
}

export function createOperatorServer(settings: () => Settings): OperatorServer {
  let current: { readonly settings: string; readonly server: Promise<Running> } | undefined
  const close = async () => {
    const last = current
    current = undefined
    await (await last?.server)?.end()
  }
  const serverNow = () => {
    const wanted = settings()
    if (current?.settings !== JSON.stringify(wanted)) {
      void close()
      const mine = {
        settings: JSON.stringify(wanted),
        server: timed('the operator process', () => start(wanted, onGone)),
      }
      function onGone() {
        if (current === mine) current = undefined
      }
      current = mine
    }
    return current.server
  }
  return {
    run: limitConcurrency(COMMANDS_MAX, async (...args: string[]) => (await serverNow()).run(args)),
    close,
  }
}

async function start(settings: Settings, onGone: () => void): Promise<Running> {
  const child = spawnOperatorServer(settings)
  const waiting = new Map<number, PromiseWithResolvers<Ended>>()
  let asked = 0
  const exited = once(child, 'exit').then(() => {
    onGone()
    for (const { resolve } of waiting.values()) resolve(GONE)
  })
  await Promise.race([once(child, 'message'), exited])
  child.on('message', ({ id, ...ended }: Ended & { id: number }) => waiting.get(id)?.resolve(ended))
  // While it has nothing to do it keeps nobody from exiting, and it ends with its parent.
  child.unref()
  child.channel?.unref()
  return {
    async run(args) {
      if (!child.connected) return GONE
      asked += 1
      const id = asked
      const answer = Promise.withResolvers<Ended>()
      waiting.set(id, answer)
      child.channel?.ref()
      child.send({ id, args })
      const overdue = setTimeout(() => child.kill('SIGKILL'), PROGRAM_MS_MAX)
      const ended = await answer.promise
      clearTimeout(overdue)
      waiting.delete(id)
      if (waiting.size === 0) child.channel?.unref()
      return ended
    },
    async end() {
      await Promise.all([...waiting.values()].map(({ promise }) => promise))
      child.ref()
      child.kill('SIGKILL')
      await exited
    },
  }
}
