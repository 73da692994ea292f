import { request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { startHttpServer } from '@shopwire/test-kit/receivers/http-server'
import { canonical, hmac, newNonce, nowS, type Parts, signRequest } from '../signer.ts'

export interface ProxiedRequest {
  method: string
  /** Path and query. */
  target: string
  headers: [name: string, value: string][]
  body: Buffer
}

export interface ProxiedResponse {
  status: number
  headers: [name: string, value: string][]
  body: Buffer
}

/** What a wrong server does differently. Everything else is done by the correct service behind the proxy. */
export interface Wrong {
  /** Changes what reaches the service, or answers by itself. */
  onRequest?(request: ProxiedRequest): ProxiedResponse | undefined
  /** Changes what the service answered. */
  onResponse?(reply: ProxiedResponse, request: ProxiedRequest): void
  /** Changes an event on its way to the receiver. */
  event?(event: ProxiedRequest): void
}

export interface Proxy {
  readonly url: string
  close(): Promise<void>
}

/** A proxy between the kit and a correct server that makes it a wrong one. */
export async function startProxy(service: string, wrong: Wrong): Promise<Proxy> {
  const { host, pathname } = new URL(service)
  const server = await startHttpServer(async (incoming, response) => {
    const request = await requestOf(incoming)
    const path = request.target
    const reply =
      wrong.onRequest?.(request) ??
      (await forward((done) => httpRequest({ ...addressOf(host), ...lineOf(request) }, done), request.body))
    wrong.onResponse?.(reply, { ...request, target: path })
    response.sendDate = false
    setHeader(reply, 'content-length', String(reply.body.length))
    response.writeHead(reply.status, reply.headers.flat())
    response.end(reply.status === 304 ? undefined : reply.body)
  })
  return { url: `http://127.0.0.1:${server.port}${pathname}`, close: server.close }
}

/** A proxy in front of the receiver, with the same certificate. */
export async function startReceiverProxy(
  { cert, key, ca }: { cert: string; key: string; ca: string },
  receiver: { host: string; port: number },
  wrong: Wrong,
): Promise<Proxy> {
  const receive = async (incoming: IncomingMessage, response: ServerResponse) => {
    const event = await requestOf(incoming)
    wrong.event?.(event)
    setHeader(event, 'content-length', String(event.body.length))
    const reply = await forward(
      (done) => httpsRequest({ ...receiver, ...lineOf(event), ca }, done),
      event.body,
    )
    response.writeHead(reply.status, reply.headers.flat()).end(reply.body)
  }
  const server = await startHttpServer(receive, { host: receiver.host, tls: { cert, key } })
  return { url: `https://${receiver.host}:${server.port}`, close: server.close }
}

async function requestOf(incoming: IncomingMessage): Promise<ProxiedRequest> {
  const { method = '', url = '', rawHeaders } = incoming
  return { method, target: url, headers: pairs(rawHeaders), body: await buffer(incoming) }
}

const addressOf = (host: string) => ({ host: host.split(':')[0] ?? '', port: Number(host.split(':')[1]) })
const lineOf = ({ method, target, headers }: ProxiedRequest) => ({
  method,
  path: target,
  headers: headers.flat(),
  agent: false as const,
})

async function forward(
  send: (done: (answer: IncomingMessage) => void) => ReturnType<typeof httpRequest>,
  body: Buffer,
): Promise<ProxiedResponse> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    send(resolve).on('error', reject).end(body)
  })
  return { status: answer.statusCode ?? 0, headers: pairs(answer.rawHeaders), body: await buffer(answer) }
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, n) => (n % 2 === 0 ? [[name, raw[n + 1] ?? ''] as [string, string]] : []))
}

export function header({ headers }: ProxiedRequest | ProxiedResponse, name: string): string | undefined {
  return headers.find(([found]) => found.toLowerCase() === name)?.[1]
}

/** Undefined removes it. */
export function setHeader(
  message: ProxiedRequest | ProxiedResponse,
  name: string,
  value: string | undefined,
): void {
  message.headers = message.headers.filter(([found]) => found.toLowerCase() !== name)
  if (value !== undefined) message.headers.push([name, value])
}

// biome-ignore lint/suspicious/noExplicitAny: faults reach into answers of every shape
export function json(message: ProxiedRequest | ProxiedResponse): any {
  return message.body.length === 0 ? undefined : JSON.parse(message.body.toString())
}

export function setJson(message: ProxiedRequest | ProxiedResponse, value: unknown): void {
  message.body = Buffer.from(JSON.stringify(value))
}

export function answer(status: number, value: unknown): ProxiedResponse {
  const headers: ProxiedResponse['headers'] = [['content-type', 'application/json; charset=utf-8']]
  return { status, headers, body: Buffer.from(JSON.stringify(value)) }
}

export type Secrets = (keyId: string | undefined) => string | undefined

function partsOf(request: ProxiedRequest): Parts {
  return {
    method: request.method,
    target: request.target,
    timestamp: header(request, 'x-api-timestamp') ?? '',
    nonce: header(request, 'x-api-nonce') ?? '',
    body: request.body,
  }
}

/** Whether it is signed as the interface says, or as a wrong understanding of it says. */
export function isSigned(
  request: ProxiedRequest,
  secrets: Secrets,
  reading = (text: string) => text,
): boolean {
  const secret = secrets(header(request, 'x-api-key'))
  return (
    secret !== undefined &&
    hmac(secret, reading(canonical(partsOf(request)))) === header(request, 'x-api-signature')
  )
}

/** Signs what has been changed, as if the caller had sent it so; with a fresh nonce and timestamp. */
export function signAgain(request: ProxiedRequest, secrets: Secrets): void {
  const secret = secrets(header(request, 'x-api-key'))
  if (secret === undefined) return
  setHeader(request, 'x-api-timestamp', String(nowS()))
  setHeader(request, 'x-api-nonce', newNonce())
  setHeader(request, 'x-api-signature', signRequest(secret, partsOf(request)))
  if (request.body.length > 0) setHeader(request, 'content-length', String(request.body.length))
}
