import { Shopwire } from '@shopwire/sdk'
import {
  type Credentials,
  findBaseUrl,
  findCredentials,
  findToken,
  type TokenAccess,
} from './profiles/credentials.ts'
import { type Emulator, findEmulator } from './store/emulator.ts'
import { type Pacer, pacer } from './store/pacer.ts'
import { confirm, isInteractive } from './terminal/ask.ts'
import { createOutput, type Output } from './terminal/output.ts'
import { type EXIT, UsageError } from './trouble.ts'

export interface GlobalOptions {
  readonly json?: boolean
  readonly profile?: string
}

/** What every command gets. Nothing is read or sent before a command uses it. */
export interface Context {
  readonly out: Output
  /** The requested profile, if any. */
  readonly profileName: string | undefined
  /** Returns a command with the --profile option that reaches the same account. */
  again(command: string): string
  credentials(): Promise<Credentials>
  shop(): Promise<Shopwire>
  /** A client with a pacer that keeps within the account's rate limits, for commands that read a lot. */
  pacedShop(): Promise<{ shop: Shopwire; pacer: Pacer }>
  /** Its public side: no key needed. */
  publicShop(): Promise<Shopwire>
  /** Undefined when the store is not an emulator. */
  emulator(): Promise<Emulator | undefined>
  /** The personal access token of the store's dashboard, if there is one. */
  token(): Promise<TokenAccess | undefined>
  /** Asks for confirmation, unless --yes is given. */
  mayProceed(question: string, isYes: boolean | undefined): Promise<boolean>
  /** Throws a usage error when --yes is missing and there is no terminal to ask on. */
  needAnswer(isYes: boolean | undefined): void
}

export function createContext(options: GlobalOptions): Context {
  const out = createOutput({ isJson: options.json === true })
  const credentials = () => findCredentials(options.profile)
  const shop = async (fetch?: typeof globalThis.fetch) => {
    const { keyId, secret, baseUrl, emulatorUrl } = await credentials()
    // An emulator may run in a container, without TLS; it has no real money.
    return openShop({ keyId, secret, baseUrl, fetch, allowHttp: emulatorUrl !== undefined })
  }
  const needAnswer = (isYes: boolean | undefined) => {
    if (isYes || (isInteractive() && !out.isJson)) return
    const why = out.isJson ? 'with --json there is no prompt' : 'there is no terminal to ask on'
    throw new UsageError(
      `This command asks for confirmation, and ${why}. Nothing was sent.`,
      'Add --yes when you are sure.',
    )
  }
  return {
    out,
    profileName: options.profile ?? (process.env.SHOPWIRE_PROFILE || undefined),
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
    token: () => findToken(options.profile),
    needAnswer,
    async mayProceed(question, isYes) {
      needAnswer(isYes)
      return isYes || confirm(question)
    },
  }
}

/** The SDK throws a TypeError for wrong options; here that means a wrong configuration. */
function openShop(options: ConstructorParameters<typeof Shopwire>[0]): Shopwire {
  try {
    return new Shopwire(options)
  } catch (error) {
    if (error instanceof TypeError) throw new UsageError(error.message, 'Run `shopwire doctor`.')
    throw error
  }
}

/** What a command returns: nothing, or its exit code. */
// biome-ignore lint/suspicious/noConfusingVoidType: a successful command returns nothing.
export type Outcome = void | (typeof EXIT)[keyof typeof EXIT]
