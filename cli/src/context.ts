import { Shopwire } from '@shopwire/sdk'
import { type Credentials, findBaseUrl, findCredentials } from './profiles/credentials.ts'
import { type Emulator, findEmulator } from './store/emulator.ts'
import { type Pacer, pacer } from './store/pacer.ts'
import { confirm, isInteractive } from './terminal/ask.ts'
import { createOutput, type Output } from './terminal/output.ts'
import { type EXIT, UsageError } from './trouble.ts'

export interface GlobalOptions {
  readonly json?: boolean
  readonly profile?: string
}

/** What every command is given. Nothing is read or sent before a command asks for it. */
export interface Context {
  readonly out: Output
  /** A command as it has to be typed to reach the same account again. */
  again(command: string): string
  credentials(): Promise<Credentials>
  shop(): Promise<Shopwire>
  /** A client and what keeps it within the limits of the account, for commands that read a lot. */
  pacedShop(): Promise<{ shop: Shopwire; pacer: Pacer }>
  /** Its public side: no key needed. */
  publicShop(): Promise<Shopwire>
  /** Undefined when the store is not an emulator. */
  emulator(): Promise<Emulator | undefined>
  /** Asks, or takes --yes for an answer. */
  mayProceed(question: string, isYes: boolean | undefined): Promise<boolean>
  /** Without --yes and without anybody to ask it is a usage error: nothing happens by accident. */
  needAnswer(isYes: boolean | undefined): void
}

export function createContext(options: GlobalOptions): Context {
  const out = createOutput({ isJson: options.json === true })
  const credentials = () => findCredentials(options.profile)
  const shop = async (fetch?: typeof globalThis.fetch) => {
    const { keyId, secret, baseUrl, emulatorUrl } = await credentials()
    // An emulator may be in a container; its money is play money.
    return openShop({ keyId, secret, baseUrl, fetch, allowHttp: emulatorUrl !== undefined })
  }
  const needAnswer = (isYes: boolean | undefined) => {
    if (isYes || (isInteractive() && !out.isJson)) return
    const why = out.isJson ? 'with --json nobody is asked' : 'there is no terminal to ask on'
    throw new UsageError(
      `This asks before it does something, and ${why}. Nothing was sent.`,
      'Add --yes when you are sure.',
    )
  }
  return {
    out,
    again: (command) => `${command}${options.profile === undefined ? '' : ` --profile ${options.profile}`}`,
    credentials,
    shop: () => shop(),
    async pacedShop() {
      const limits = pacer(out)
      return { shop: await shop(limits.fetch), pacer: limits }
    },
    async publicShop() {
      return openShop({
        keyId: 'none',
        secret: 'none',
        baseUrl: await findBaseUrl(options.profile),
        allowHttp: true,
      })
    },
    async emulator() {
      return findEmulator(await credentials())
    },
    needAnswer,
    async mayProceed(question, isYes) {
      needAnswer(isYes)
      return isYes || confirm(question)
    },
  }
}

/** The SDK says what is wrong with its arguments by a TypeError; here that is a mistake in the set-up. */
function openShop(options: ConstructorParameters<typeof Shopwire>[0]): Shopwire {
  try {
    return new Shopwire(options)
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, 'Run `shopwire doctor`.')
    throw error
  }
}

/** What a command returns: nothing, or its exit code. */
// biome-ignore lint/suspicious/noConfusingVoidType: a command that worked has nothing to say.
export type Outcome = void | (typeof EXIT)[keyof typeof EXIT]
