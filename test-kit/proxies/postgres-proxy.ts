import { type Address, type Interception, type Link, startRelay } from './relay.ts'

/**
 * A proxy between a process and PostgreSQL that passes everything on until a trap is set for a statement. With it a test can
 * stop at the instant before a commit, or the one after it, without a switch for that in the shipped code.
 */
export interface PostgresProxy {
  /** The same database by way of this proxy. */
  url(direct: string): string
  /** Settles when the trap has caught as many statements as it is meant to, each on a connection of its own. */
  trap(trap: Trap): Promise<Caught[]>
  close(): Promise<void>
}

export interface Trap {
  /**
   * held: the statement never reaches the server. unanswered: it does, and everything that the server answers is withheld
   * from the process. passed: nothing is withheld; the trap only reports the moment at which the statement was sent.
   */
  readonly how: 'held' | 'unanswered' | 'passed'
  readonly count: number
  /** `earlier` are the statements of the same connection since it last said "begin". */
  isMeant(statement: string, earlier: readonly string[]): boolean
}

export interface Caught {
  /** Of the server process that serves the connection. */
  readonly backendPid: number
}

export async function startPostgresProxy(target: Address): Promise<PostgresProxy> {
  let armed: ArmedTrap | undefined
  const relay = await startRelay(
    () => target,
    (link) => watchStatements(link, () => armed),
  )
  return {
    url(direct) {
      const url = new URL(direct)
      url.port = String(relay.port)
      return url.href
    },
    trap: (trap) =>
      new Promise((resolve) => {
        const caught: Caught[] = []
        armed = {
          ...trap,
          caught(one) {
            caught.push(one)
            if (caught.length < trap.count) return
            if (trap.how === 'passed') armed = undefined
            resolve(caught)
          },
        }
      }),
    close: relay.close,
  }
}

interface ArmedTrap extends Trap {
  caught(one: Caught): void
}

/** Message types of the protocol that matter here, version 3: PostgreSQL's documentation, "Message Formats". */
const FROM_CLIENT = { query: 'Q', parse: 'P', bind: 'B' }
const FROM_SERVER = { keyData: 'K', readyForQuery: 'Z' }

function watchStatements({ client, server }: Link, armed: () => ArmedTrap | undefined): Interception {
  const textOf = new Map<string, string>()
  let earlier: string[] = []
  let backendPid = 0
  let trapped: ArmedTrap | undefined

  const statementOf = ({ type, body }: Message): string | undefined => {
    if (type === FROM_CLIENT.query) return textAt(body, 0).text
    if (type === FROM_CLIENT.parse) {
      const name = textAt(body, 0)
      textOf.set(name.text, textAt(body, name.end).text)
    }
    if (type !== FROM_CLIENT.bind) return undefined
    return textOf.get(textAt(body, textAt(body, 0).end).text)
  }

  const fromClient = framesOf({ hasStartup: true }, (message) => {
    if (trapped?.how === 'held') return
    const statement = statementOf(message)
    const trap = trapped ? undefined : armed()
    const catching = statement !== undefined && trap?.isMeant(statement, earlier) ? trap : undefined
    if (statement !== undefined) earlier = statement === 'begin' ? [] : [...earlier, statement]
    if (catching && catching.how !== 'passed') trapped = catching
    if (catching?.how !== 'held') server.write(message.bytes)
    if (catching && catching.how !== 'unanswered') catching.caught({ backendPid })
  })
  const fromServer = framesOf({ hasStartup: false }, ({ type, body, bytes }) => {
    if (type === FROM_SERVER.keyData) backendPid = body.readInt32BE(0)
    if (!trapped) return void client.write(bytes)
    if (trapped.how === 'unanswered' && type === FROM_SERVER.readyForQuery) trapped.caught({ backendPid })
  })
  return { fromClient, fromServer }
}

interface Message {
  /** Empty for the first message of a client, which has none. */
  readonly type: string
  readonly body: Buffer
  readonly bytes: Buffer
}

const LENGTH_BYTES = 4

/** Cuts a stream into its messages: a type, except in a client's first one, and a length that counts itself. */
function framesOf({ hasStartup }: { hasStartup: boolean }, each: (message: Message) => void) {
  let rest = Buffer.alloc(0)
  let typeBytes = hasStartup ? 0 : 1
  return (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk])
    while (rest.length >= typeBytes + LENGTH_BYTES) {
      const size = typeBytes + rest.readInt32BE(typeBytes)
      if (rest.length < size) return
      const bytes = rest.subarray(0, size)
      rest = rest.subarray(size)
      each({
        type: bytes.toString('latin1', 0, typeBytes),
        body: bytes.subarray(typeBytes + LENGTH_BYTES),
        bytes,
      })
      typeBytes = 1
    }
  }
}

function textAt(body: Buffer, start: number): { text: string; end: number } {
  const zero = body.indexOf(0, start)
  return { text: body.toString('utf8', start, zero), end: zero + 1 }
}
