import { availableParallelism } from 'node:os'
import { hash, verify } from '@node-rs/argon2'
import { RETRY_AFTER_OVERLOADED_S } from '@shopwire/contract'
import { createSlots } from '../platform/batching/slots.ts'
import { Refusal } from '../platform/trouble.ts'

/** How much work one guess costs. OWASP's least for argon2id: 19 MiB, two passes, one lane. */
export interface PasswordCost {
  readonly memoryKib: number
  readonly passes: number
}

/** The package's own enum exists only in its types. */
const ARGON2ID = 2

export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2 }

/**
 * A hash keeps a processor busy for some hundredths of a second, and anyone who can reach the sign-in page can request one. At most
 * half of the processors, and two of the four threads that also look up names and read files, work on hashes; the others are for
 * people who are signed in.
 */
const AT_ONCE_MAX = Math.max(1, Math.min(2, Math.floor(availableParallelism() / 2)))
/** About a second's work. One address can have eight of them (edge/dashboard), so no single one takes all places. */
const WAITING_MAX = 32

/** The work itself, and how much of it is done at a time. Replaced only in tests. */
export interface Hashing {
  readonly hash: typeof hash
  readonly verify: typeof verify
  readonly atOnceMax: number
  readonly waitingMax: number
}

const HASHING: Hashing = { hash, verify, atOnceMax: AT_ONCE_MAX, waitingMax: WAITING_MAX }

/** Both refuse with 503 when too many are waiting already. */
export interface Passwords {
  hash(password: string): Promise<string>
  /** Takes as long, and is false, for a person who has no password or does not exist. */
  verify(hash: string | null | undefined, password: string): Promise<boolean>
  /** The hash was made with other parameters; make a new one while the password is available. */
  isOutdated(hash: string): boolean
}

export function createPasswords(
  { memoryKib, passes }: PasswordCost = PASSWORD_COST,
  hashing: Hashing = HASHING,
): Passwords {
  const options = {
    algorithm: ARGON2ID,
    memoryCost: memoryKib,
    timeCost: passes,
    parallelism: 1,
  }
  const head = `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$`
  const queued = createHashQueue(hashing)
  // The same characters typed on another keyboard may be composed differently.
  const hashOf = (password: string) => queued(() => hashing.hash(password.normalize('NFKC'), options))
  return {
    hash: hashOf,
    async verify(stored, password) {
      if (stored != null) return queued(() => hashing.verify(stored, password.normalize('NFKC')))
      await hashOf(password)
      return false
    },
    isOutdated: (hash) => !hash.startsWith(head),
  }
}

/** In order of arrival. */
function createHashQueue({ atOnceMax, waitingMax }: Hashing) {
  const slots = createSlots(atOnceMax)
  const toTheEnd = new AbortController().signal
  let begun = 0
  return async <Result>(work: () => Promise<Result>): Promise<Result> => {
    if (begun >= atOnceMax + waitingMax) throw new HashingBusy()
    begun += 1
    try {
      return await slots.run('', toTheEnd, work)
    } finally {
      begun -= 1
    }
  }
}

/** Nothing was compared: such an attempt does not count as wrong. */
export class HashingBusy extends Refusal {
  constructor() {
    super(
      'service_unavailable',
      'Too many people are signing in right now. Nothing was done; try again in a moment.',
      { shed: 'passwords' },
      { 'retry-after': String(RETRY_AFTER_OVERLOADED_S) },
    )
  }
}
