import { PROCESSES } from './process-facts.ts'
import { isAlive } from './process-tree.ts'

const LOOK_EVERY_MS = 500

export interface Npm {
  /** Called at most once. The timer does not keep the process running. */
  onGone(then: () => void): void
}

/**
 * The npm that runs this process, which is `command`, by `npx` or as a script. npm forwards SIGTERM only to the shell
 * in between, and SIGKILL to nobody, so its end must be detected by polling. Parents that start the command in
 * another way may end before it, as with nohup, setsid and scripts.
 */
export function findNpm(command: string): Npm | undefined {
  // Inherited by everything below npm, but it names the one command that npm itself waits for.
  if (!isAlone(command, process.env.npm_lifecycle_script ?? '')) return undefined
  const parent = process.ppid
  const above = PROCESSES.one(parent)
  // Some shells replace themselves with a single command (exec), others stay.
  const npm = above && /^\w*sh$/.test(above.name) ? above.parent : parent
  // As PID 1 of a container its end ends all processes anyway.
  if (npm <= 1) return undefined
  return {
    onGone(then) {
      const look = setInterval(() => {
        if (process.ppid === parent && isAlive(npm)) return
        clearInterval(look)
        then()
      }, LOOK_EVERY_MS)
      look.unref()
    },
  }
}

/** A single command, which npm waits for: npm runs for as long as the command is needed. */
function isAlone(command: string, script: string): boolean {
  const quoted = ['', '"', "'"].map((quote) => `${quote}${command}${quote}`)
  const found = quoted.find((one) => script.startsWith(one))
  return found !== undefined && /^( [^&;|<>()`$\n]*)?$/.test(script.slice(found.length))
}
