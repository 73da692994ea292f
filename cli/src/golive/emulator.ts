import type { AboutEmulator, EmulatedOrder, RecordedDelivery, RecordedRequest } from '@shopwire/emulator'
import { askEmulator, EmulatorRefused } from '../store/control.ts'

export interface FaultToArm {
  readonly name: string
  readonly times?: number
  readonly [parameter: string]: unknown
}

/** Checking all invariants reads the whole database. */
const VERIFY_MS_MAX = 60_000

/** As many as an emulator keeps. */
const RECORDS_MAX = 2_000
/** Greater than the number of any record. */
const FAR_AHEAD = 1e14

/** A client of the control interface for one account. */
export class Emulator {
  readonly #url: string
  /** Undefined: the emulator's main account. */
  readonly #account: string | undefined

  constructor(url: string, account?: string) {
    this.#url = url.replace(/\/+$/, '')
    this.#account = account
  }

  about(): Promise<AboutEmulator> {
    return this.#ask('GET', '')
  }

  async requests(after: number): Promise<{ requests: readonly RecordedRequest[]; last: number }> {
    return this.#ask('GET', `/requests?after=${after}&limit=${RECORDS_MAX}`)
  }

  /** The number of the latest record of any kind. */
  async last(): Promise<number> {
    return (await this.requests(FAR_AHEAD)).last
  }

  async deliveries(after: number): Promise<{ deliveries: readonly RecordedDelivery[]; last: number }> {
    return this.#ask('GET', `/deliveries?after=${after}&limit=${RECORDS_MAX}`)
  }

  async orders(): Promise<readonly EmulatedOrder[]> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return (await this.#ask<{ orders: EmulatedOrder[] }>('GET', `/orders${query}`)).orders
  }

  async balance(): Promise<number> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return (await this.#ask<{ balance_cents: number }>('GET', `/ledger${query}`)).balance_cents
  }

  setBalance(balance_cents: number): Promise<unknown> {
    return this.#ask('POST', '/balance', this.#ours({ balance_cents }))
  }

  setWebhook(url: string | null, secret?: string): Promise<unknown> {
    return this.#ask('POST', '/webhook', this.#ours({ url, ...(secret !== undefined && { secret }) }))
  }

  setItem(id: string, change: { price_cents?: number; sellable?: boolean }): Promise<unknown> {
    return this.#ask('POST', `/items/${id}`, change)
  }

  arm(fault: FaultToArm): Promise<unknown> {
    return this.#ask('POST', '/faults', isForAll(fault) ? fault : this.#ours(fault))
  }

  disarm(fault: FaultToArm): Promise<unknown> {
    const { name } = fault
    const query = this.#account && !isForAll(fault) ? `?account_id=${this.#account}` : ''
    return this.#ask('DELETE', `/faults/${name}${query}`)
  }

  /** Removes faults left by an earlier run or a person. */
  disarmAll(): Promise<unknown> {
    const query = this.#account ? `?account_id=${this.#account}` : ''
    return this.#ask('DELETE', `/faults${query}`)
  }

  verify(): Promise<{ ok: boolean; violations: readonly unknown[] }> {
    return this.#ask('POST', '/verify', {}, VERIFY_MS_MAX)
  }

  #ours<Body extends object>(body: Body): Body & { account_id?: string } {
    return this.#account ? { ...body, account_id: this.#account } : body
  }

  #ask<Answer>(method: string, path: string, body?: object, msMax?: number): Promise<Answer> {
    return askEmulator<Answer>(this.#url, { method, path, body, msMax }).catch((error: unknown) => {
      // The message names the control request that failed.
      if (!(error instanceof EmulatorRefused)) throw error
      throw new Error(`The emulator refused ${method} /_emulator${path}: ${error.message}`, { cause: error })
    })
  }
}

/** Closing the store affects all accounts, because `/status` is not per account. */
function isForAll({ name }: FaultToArm): boolean {
  return name === 'store_closed'
}
