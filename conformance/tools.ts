import { randomBytes } from 'node:crypto'
import type { Accounts } from './accounts.ts'
import { Mismatch, type Reply, replyOf } from './expect.ts'
import type { Fixtures, Item, ItemKind, Key, Operator } from './fixtures.ts'
import { type ExchangeOptions, exchange, type HeaderList, type Origin } from './http.ts'
import type { Receiver } from './receiver.ts'
import { newNonce, nowS, type Parts, signRequest } from './signer.ts'

/** A request before it is bytes. Whatever is left out is as it should be. */
export interface Draft {
  readonly method?: string
  /** Below the base address, query included; or `target`, the whole of it. */
  readonly path?: string
  readonly target?: string
  readonly body?: string | Buffer
  /** Not signed at all without one. */
  readonly key?: Key
  readonly timestamp?: string
  readonly nonce?: string
  /** The signature made in another way. */
  readonly signature?: (parts: Parts, key: Key) => string
  readonly headers?: HeaderList
  /** Changes the complete list of headers, for example leaves one out. */
  readonly edit?: (headers: HeaderList) => HeaderList
  readonly version?: string
  /** Sent however many were sent before it. */
  readonly isUnpaced?: boolean
}

export interface Base {
  readonly origin: Origin
  /** `/v1`, or more behind a prefix. */
  readonly path: string
}

export function baseOf(url: string, localAddress?: string): Base {
  const { protocol, hostname, port, pathname } = new URL(url)
  const isTls = protocol === 'https:'
  return {
    origin: {
      host: hostname.replace(/^\[|\]$/g, ''),
      port: Number(port || (isTls ? 443 : 80)),
      isTls,
      ...(localAddress !== undefined && { localAddress }),
    },
    path: pathname.replace(/\/$/, ''),
  }
}

export interface RunState {
  readonly base: Base
  readonly fixtures: Fixtures
  readonly accounts: Accounts
  /** Things that happen once in a run and are looked at by several checks. */
  readonly scenes: Map<string, Promise<unknown>>
}

/** What a check can use. */
export class Tools {
  readonly #run: RunState
  readonly #lent: Key[] = []
  readonly #endings: (() => Promise<unknown>)[] = []

  constructor(run: RunState) {
    this.#run = run
  }

  get fixtures(): Fixtures {
    return this.#run.fixtures
  }

  get basePath(): string {
    return this.#run.base.path
  }

  get operator(): Operator {
    return given(this.fixtures.operator, 'operator')
  }

  get receiver(): Receiver {
    return given(this.fixtures.receiver, 'receiver')
  }

  item(kind: ItemKind): Item {
    return given(this.fixtures.items?.[kind], kind)
  }

  key(name: 'poor' | 'suspended' | 'revoked'): Key {
    return given(this.fixtures[name], name)
  }

  /** An account that no other check uses while this one runs; the same one on every call. */
  async buyer({ isFresh = false } = {}): Promise<Key> {
    const [key] = this.#lent.length > 0 ? this.#lent : await this.buyers(1, isFresh)
    return given(key, 'buyer')
  }

  async buyers(count: number, isFresh = false): Promise<Key[]> {
    const keys = await this.#run.accounts.lend(count, isFresh)
    this.#lent.push(...keys)
    return keys
  }

  /** Done after the check, however it ends. */
  afterwards(ending: () => Promise<unknown>) {
    this.#endings.push(ending)
  }

  /** Something that several checks look at is done once. Call it before an account is lent, or checks could deadlock. */
  scene<Result>(name: string, play: (tools: Tools) => Promise<Result>): Promise<Result> {
    const known = this.#run.scenes.get(name) as Promise<Result> | undefined
    if (known) return known
    const tools = new Tools(this.#run)
    const playing = play(tools).finally(() => tools.end())
    this.#run.scenes.set(name, playing)
    return playing
  }

  async end() {
    try {
      for (const ending of this.#endings.reverse()) await ending()
    } finally {
      this.#run.accounts.giveBack(this.#lent)
    }
  }

  /** Waits until so many requests fit into the window; for bytes that are sent as they are, or at a certain moment. */
  async waitForCapacity(key: Key, requests = 1, isOrder = false): Promise<void> {
    for (let n = 0; n < requests; n += 1) await this.#run.accounts.waitForCapacity(key, isOrder)
  }

  get(key: Key, path: string, more: Draft = {}): Promise<Reply> {
    return this.send({ method: 'GET', path, key, ...more })
  }

  post(key: Key, path: string, body: unknown, more: Draft = {}): Promise<Reply> {
    const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
    return this.send({ method: 'POST', path, key, body: bytes, ...more })
  }

  order(key: Key, items: readonly object[], more: { idempotency_key?: string } & Draft = {}): Promise<Reply> {
    const { idempotency_key = newOrderKey(), ...draft } = more
    return this.post(key, '/orders', { items, idempotency_key }, draft)
  }

  async balance(key: Key): Promise<number> {
    return (await this.get(key, '/balance')).ok().balance_cents
  }

  async send(draft: Draft): Promise<Reply> {
    const { key, method = 'GET', path = '' } = draft
    const isOrder = method === 'POST' && path.startsWith('/orders')
    if (key && draft.isUnpaced) this.#run.accounts.note(key.account, isOrder)
    else if (key) await this.#run.accounts.waitForCapacity(key, isOrder)
    return this.raw(this.bytes(draft))
  }

  /** Exactly these bytes. */
  async raw(sending: Buffer | readonly (Buffer | number)[], options?: ExchangeOptions): Promise<Reply> {
    const [answer] = await exchange(this.#run.base.origin, sending, options)
    if (!answer) throw new Mismatch('an answer', 'none')
    return replyOf(answer)
  }

  async rawAnswers(sending: Buffer, answers: number): Promise<Reply[]> {
    return (await exchange(this.#run.base.origin, sending, { answers })).map(replyOf)
  }

  bytes(draft: Draft): Buffer {
    const { method = 'GET', path = '', version = 'HTTP/1.1' } = draft
    const target = draft.target ?? this.#run.base.path + path
    const body = Buffer.from(draft.body ?? '')
    const host = `${this.#run.base.origin.host}:${this.#run.base.origin.port}`
    const headers: HeaderList = [
      ['Host', host],
      ...(draft.key ? this.credentials(draft.key, { method, target, body }, draft) : []),
      ...(body.length > 0 || method === 'POST' ? [['Content-Length', String(body.length)] as const] : []),
      ...(draft.headers ?? []),
    ]
    const lines = (draft.edit?.(headers) ?? headers).map(([name, value]) => `${name}: ${value}\r\n`)
    return Buffer.concat([
      Buffer.from(`${method} ${target} ${version}\r\n${lines.join('')}\r\n`, 'latin1'),
      body,
    ])
  }

  credentials(
    key: Key,
    { method, target, body }: Pick<Parts, 'method' | 'target' | 'body'>,
    { timestamp = String(nowS()), nonce = newNonce(), signature }: Draft = {},
  ): HeaderList {
    const parts = { method, target, timestamp, nonce, body }
    return [
      ['X-Api-Key', key.id],
      ['X-Api-Timestamp', timestamp],
      ['X-Api-Nonce', nonce],
      ['X-Api-Signature', signature?.(parts, key) ?? signRequest(key.secret, parts)],
    ]
  }
}

export function newOrderKey(): string {
  return `conf-${randomBytes(12).toString('hex')}`
}

export function without(...names: string[]): (headers: HeaderList) => HeaderList {
  return (headers) => headers.filter(([name]) => !names.includes(name.toLowerCase()))
}

function given<Value>(value: Value | undefined, name: string): Value {
  if (value === undefined) throw new Error(`a check uses "${name}" without having said that it needs it`)
  return value
}
