import { Resolver } from 'node:dns/promises'
import { createSlots } from '../batching/slots.ts'
import { withDeadline } from '../process/deadline.ts'

/** No address was found for a name. */
export class LookupFailed extends Error {
  override readonly name = 'LookupFailed'
  /** True when the name server says that the name does not exist or has no address; false when it gave no usable answer. */
  readonly isUnknownName: boolean

  constructor(isUnknownName: boolean) {
    super(isUnknownName ? 'the name is not known' : 'the name server gave no answer')
    this.isUnknownName = isUnknownName
  }
}

/** All addresses of a name, IPv4 first. The owner is the account that chose the name; look-ups are limited per owner. */
export type LookUp = (name: string, owner: string, signal?: AbortSignal) => Promise<string[]>

/** Includes the wait for a slot. */
export const LOOKUP_MS_MAX = 2_000
const LOOKUPS_PER_OWNER_MAX = 4
/** For one server; the next attempt has a longer limit. */
const TRY_MS = 600
const TRIES = 2
/** How long to wait for the second address family once the first has answered: some name servers never answer for IPv6. */
const OTHER_FAMILY_MS = 500
const UNKNOWN = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

/**
 * Resolves names in DNS without the four threads that getaddrinfo shares with the rest of the process: the owner of a name also
 * controls its name server, and one that never answers would block those threads. Names are read as fully qualified; neither
 * /etc/hosts nor the search list is used.
 */
export function createLookUp(servers?: readonly string[]): LookUp {
  const slots = createSlots(LOOKUPS_PER_OWNER_MAX)
  return async (name, owner, outer) => {
    try {
      return await withDeadline(LOOKUP_MS_MAX, outer, (signal) =>
        slots.run(owner, signal, () => ask(name, servers, signal)),
      )
    } catch (error) {
      outer?.throwIfAborted()
      throw error instanceof LookupFailed ? error : new LookupFailed(false)
    }
  }
}

async function ask(
  name: string,
  servers: readonly string[] | undefined,
  signal: AbortSignal,
): Promise<string[]> {
  signal.throwIfAborted()
  // One resolver per look-up: a resolver records which servers failed, and a hostile name must not affect other look-ups.
  const resolver = new Resolver({ timeout: TRY_MS, tries: TRIES })
  if (servers) resolver.setServers(servers)
  const cancel = () => resolver.cancel()
  let timer: NodeJS.Timeout | undefined
  const found = (addresses: string[]) => {
    timer ??= setTimeout(cancel, OTHER_FAMILY_MS)
    return addresses
  }
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const families = [resolver.resolve4(name).then(found), resolver.resolve6(name).then(found)]
    const answers = await Promise.allSettled(families)
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length > 0) return addresses
    throw new LookupFailed(answers.every(saysUnknown))
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', cancel)
  }
}

function saysUnknown(answer: PromiseSettledResult<string[]>): boolean {
  return answer.status === 'fulfilled' || UNKNOWN.has(answer.reason.code)
}
