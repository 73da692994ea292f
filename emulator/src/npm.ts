import { isAlive, lookUp } from '@shopwire/engines'

const LOOK_EVERY_MS = 500
/** One command and nothing else: npm waits for it, so npm is there for as long as the emulator is wanted. */
const OURS_ALONE = /^["']?shopwire-emulator["']?( [^&;|<>()`$\n]*)?$/

export interface Npm {
  /** At most once. It keeps nobody running. */
  onGone(then: () => void): void
}

/**
 * The npm that runs this process, by `npx` or as a script. It hands SIGTERM to the shell in between and no further, and of a kill
 * not even the shell hears, so its end has to be looked for. Whoever starts the emulator in another way may end before it: that is
 * what nohup, setsid and scripts are for.
 */
export function findNpm(): Npm | undefined {
  // Handed down to everything below npm, but it names the one command that npm itself waits for.
  if (!OURS_ALONE.test(process.env.npm_lifecycle_script ?? '')) return undefined
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
