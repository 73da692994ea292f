import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { startHttpServer } from '@shopwire/harness'
import { canonical, hmac, newNonce, nowS, type Parts, signRequest } from '../signer.ts'

export interface Asked {
  method: string
  /** Path and query. */
  target: string
  headers: [name: string, value: string][]
  body: Buffer
}

export interface Told {
  status: number
  headers: [name: string, value: string][]
  body: Buffer
}

/** What a wrong server does differently. Whatever is left out is done right, by the service behind the proxy. */
export interface Wrong {
  /** Changes what reaches the service, or answers by itself. */
  ask?(asked: Asked): Told | undefined
  /** Changes what the service said. */
  tell?(told: Told, asked: Asked): void
  /** Changes an event on its way to the receiver. */
  event?(event: Asked): void
}

export interface Proxy {
  readonly url: string
  close(): Promise<void>
}

/** Stands between the kit and a right server, and makes it a wrong one. */
export async function startProxy(service: string, wrong: Wrong): Promise<Proxy> {
  const { host, pathname } = new URL(service)
  const server = await startHttpServer(async (incoming, response) => {
    const asked = await askedOf(incoming)
    const path = asked.target
    const told =
      wrong.ask?.(asked) ??
      (await forward((done) => httpRequest({ ...addressOf(host), ...lineOf(asked) }, done), asked.body))
    wrong.tell?.(told, { ...asked, target: path })
    response.sendDate = false
    setHeader(told, 'content-length', String(told.body.length))
    response.writeHead(told.status, told.headers.flat())
    response.end(told.status === 304 ? undefined : told.body)
  })
  return { url: `http://127.0.0.1:${server.port}${pathname}`, close: server.close }
}

/** Stands in front of the receiver, under the same certificate. */
export async function startReceiverProxy(
  { cert, key, ca }: { cert: string; key: string; ca: string },
  receiver: { host: string; port: number },
  wrong: Wrong,
): Promise<Proxy> {
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const event = await askedOf(incoming)
    wrong.event?.(event)
    setHeader(event, 'content-length', String(event.body.length))
    const told = await forward(
      (done) => httpsRequest({ ...receiver, ...lineOf(event), ca }, done),
      event.body,
    )
    response.writeHead(told.status, told.headers.flat()).end(told.body)
  }
  const server = await startHttpServer(receive, { host: receiver.host, tls: { cert, key } })
  return { url: `https://${receiver.host}:${server.port}`, close: server.close }
}

async function askedOf(incoming: IncomingMessage): Promise<Asked> {
  const { method = '', url = '', rawHeaders } = incoming
  return { method, target: url, headers: pairs(rawHeaders), body: await buffer(incoming) }
}

const addressOf = (host: string) => ({ host: host.split(':')[0] ?? '', port: Number(host.split(':')[1]) })
const lineOf = ({ method, target, headers }: Asked) => ({
  method,
  path: target,
  headers: headers.flat(),
  agent: false as const,
})

async function forward(
  send: (done: (answer: IncomingMessage) => void) => ReturnType<typeof httpRequest>,
  body: Buffer,
): Promise<Told> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    send(resolve).on('error', reject).end(body)
  })
  return { status: answer.statusCode ?? 0, headers: pairs(answer.rawHeaders), body: await buffer(answer) }
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, n) => (n % 2 === 0 ? [[name, raw[n + 1] ?? ''] as [string, string]] : []))
}

export function header({ headers }: Asked | Told, name: string): string | undefined {
  return headers.find(([found]) => found.toLowerCase() === name)?.[1]
}

/** Undefined takes it away. */
export function setHeader(message: Asked | Told, name: string, value: string | undefined): void {
  message.headers = message.headers.filter(([found]) => found.toLowerCase() !== name)
  if (value !== undefined) message.headers.push([name, value])
}

// biome-ignore lint/suspicious/noExplicitAny: faults reach into answers of every shape
export function json(message: Asked | Told): any {
  return message.body.length === 0 ? undefined : JSON.parse(message.body.toString())
}

export function setJson(message: Asked | Told, value: unknown): void {
  message.body = Buffer.from(JSON.stringify(value))
}

export function answer(status: number, value: unknown): Told {
  const headers: Told['headers'] = [['content-type', 'application/json; charset=utf-8']]
  return { status, headers, body: Buffer.from(JSON.stringify(value)) }
}

export type Secrets = (keyId: string | undefined) => string | undefined

function partsOf(asked: Asked): Parts {
  return {
    method: asked.method,
    target: asked.target,
    timestamp: header(asked, 'x-api-timestamp') ?? '',
    nonce: header(asked, 'x-api-nonce') ?? '',
    body: asked.body,
  }
}

/** Whether it is signed, by the interface or by a reading of it that is wrong. */
export function isSigned(asked: Asked, secrets: Secrets, reading = (text: string) => text): boolean {
  const secret = secrets(header(asked, 'x-api-key'))
  return (
    secret !== undefined &&
    hmac(secret, reading(canonical(partsOf(asked)))) === header(asked, 'x-api-signature')
  )
}

/** Signs what has been changed, as if the caller had sent it so; with a fresh nonce and timestamp. */
export function signAgain(asked: Asked, secrets: Secrets): void {
  const secret = secrets(header(asked, 'x-api-key'))
  if (secret === undefined) return
  setHeader(asked, 'x-api-timestamp', String(nowS()))
  setHeader(asked, 'x-api-nonce', newNonce())
  setHeader(asked, 'x-api-signature', signRequest(secret, partsOf(asked)))
  if (asked.body.length > 0) setHeader(asked, 'content-length', String(asked.body.length))
}
