import type { Log } from '../observability/log.ts'

export interface Step {
  readonly name: string
  run(): Promise<void> | void
}

/**
 * On SIGTERM or SIGINT the steps run in order, each once, all within the deadline; then the process exits. A second signal
 * exits at once. Returns a function that starts the same shutdown from code.
 */
export function onShutdown(log: Log, deadlineMs: number, steps: readonly Step[]): (why: string) => void {
  let begun = false
  const begin = (why: string) => {
    if (begun) {
      log.warn({ why }, 'second stop signal: exiting without an orderly stop')
      process.exit(1)
    }
    begun = true
    log.info({ why }, 'stopping')
    const overdue = setTimeout(() => {
      log.error('the orderly stop exceeded its time limit: exiting now')
      process.exit(1)
    }, deadlineMs)
    overdue.unref()
    void runAll(log, steps).then((clean) => process.exit(clean ? 0 : 1))
  }
  process.on('SIGTERM', () => begin('SIGTERM'))
  process.on('SIGINT', () => begin('SIGINT'))
  return begin
}

async function runAll(log: Log, steps: readonly Step[]): Promise<boolean> {
  let clean = true
  for (const step of steps) {
    try {
      await step.run()
    } catch (error) {
      clean = false
      log.error({ err: error, step: step.name }, 'a shutdown step failed')
    }
  }
  log.info('stopped')
  return clean
}
