import { isAlive, lookUp } from './process-tree.ts'

const LOOK_EVERY_MS = 500

export interface Npm {
  /** At most once. It keeps nobody running. */
  onGone(then: () => void): void
}

/**
 * The npm that runs this process, which is `command`, by `npx` or as a script. It hands SIGTERM to the shell in between and no
 * further, and of a kill not even the shell hears, so its end has to be looked for. Whoever starts the command in another way may
 * end before it: that is what nohup, setsid and scripts are for.
 */
export function findNpm(command: string): Npm | undefined {
  // Handed down to everything below npm, but it names the one command that npm itself waits for.
  if (!isAlone(command, process.env.npm_lifecycle_script ?? '')) return undefined
  const parent = process.ppid
  const above = lookUp(parent)
  // Some shells step aside for a single command, others stay.
  const npm = above && /^\w*sh$/.test(above.name) ? above.parent : parent
  // As the first process of a container it takes everybody along.
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

/** One command and nothing else: npm waits for it, so npm is there for as long as the command is wanted. */
function isAlone(command: string, script: string): boolean {
  const quoted = ['', '"', "'"].map((quote) => `${quote}${command}${quote}`)
  const found = quoted.find((one) => script.startsWith(one))
  return found !== undefined && /^( [^&;|<>()`$\n]*)?$/.test(script.slice(found.length))
}
