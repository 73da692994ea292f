import { hash, verify } from '@node-rs/argon2'

/** How much work one guess costs. OWASP's least for argon2id: 19 MiB, two passes, one lane. */
export interface PasswordCost {
  readonly memoryKib: number
  readonly passes: number
}

/** The package's own enum exists only in its types. */
const ARGON2ID = 2

export const PASSWORD_COST: PasswordCost = { memoryKib: 19_456, passes: 2 }

export interface Passwords {
  hash(password: string): Promise<string>
  verify(input: { hash: string; password: string }): Promise<boolean>
  /** The hash was made with another cost; make a new one while the password is at hand. */
  isOutdated(hash: string): boolean
}

export function createPasswords({ memoryKib, passes }: PasswordCost = PASSWORD_COST): Passwords {
  const options = {
    algorithm: ARGON2ID,
    memoryCost: memoryKib,
    timeCost: passes,
    parallelism: 1,
  }
  const head = `$argon2id$v=19$m=${memoryKib},t=${passes},p=1$`
  return {
    // The same characters typed on another keyboard may be composed differently.
    hash: (password) => hash(password.normalize('NFKC'), options),
    verify: ({ hash, password }) => verify(hash, password.normalize('NFKC')),
    isOutdated: (hash) => !hash.startsWith(head),
  }
}
