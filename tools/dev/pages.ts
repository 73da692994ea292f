import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { basename, extname, join } from 'node:path'
import { DEMO_PASSWORD, totpCode } from '../demo/people.ts'
import type { ReceivedMail } from './mail-inbox.ts'
import { LIVE_SCRIPT, STYLE } from './page-assets.ts'
import type { ReceivedEvent } from './webhook-inbox.ts'

/** Somebody of the demo store. */
export interface PersonShown {
  readonly name: string
  readonly email: string
  /** Their roles and accounts, in words. */
  readonly what: string
  readonly totp_secret: string | null
}

export interface PagesOptions {
  readonly port: number
  readonly dashboard: string
  /** Of the public status page, which a web server would serve. */
  readonly statusFolder: string
  /** By name, for people to follow. */
  readonly links: Readonly<Record<string, string>>
  people(): readonly PersonShown[]
  mails(): readonly ReceivedMail[]
  events(): readonly ReceivedEvent[]
  /** A session of this person, as the value of Set-Cookie. */
  signIn(email: string, from: { address: string; user_agent: string }): Promise<string | undefined>
}

export interface Pages {
  readonly url: string
  /** Open pages show what is new. */
  changed(): void
  close(): void
}

const HEADERS = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self' http://localhost:*; base-uri 'none'; frame-ancestors 'none'",
  'cache-control': 'no-store',
  // With none at all, browsers name no origin in a form's request either.
  'referrer-policy': 'same-origin',
}
/** A mail may be of anything: it has its styles, and its links open in a tab of their own. */
const MAIL_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'; sandbox allow-popups allow-popups-to-escape-sandbox"
const FORM_BYTES_MAX = 2_000
const STATUS_FILE = /^\/status\/(index\.html|status\.css|status\.json|feed\.xml)$/
const STATUS_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.css': 'text/css',
  '.json': 'application/json',
  '.xml': 'application/atom+xml',
}

/**
 * Pages of the development store: its people, the mail it sent and the events it delivered. They are served by this process on this
 * machine only; the service has nothing of the kind.
 */
export async function startPages(options: PagesOptions): Promise<Pages> {
  const origin = `http://localhost:${options.port}`
  const watching = new Set<ServerResponse>()
  const server = createServer((request, response) => {
    answer(request, response).catch((error: Error) => response.writeHead(500).end(error.message))
  })

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // Another name that leads here could be any site's: its pages must not read this one.
    if (request.headers.host !== new URL(origin).host)
      return void response.writeHead(307, { location: origin }).end()
    const path = new URL(request.url ?? '/', origin).pathname
    const send = (type: string, body: string) =>
      void response.writeHead(200, { ...HEADERS, 'content-type': `${type}; charset=utf-8` }).end(body)
    if (request.method === 'POST' && path === '/sign-in') return signIn(request, response)
    const mail = options.mails().find(({ id }) => path === `/mail/${id}`)
    if (mail) return sendMail(mail, response)
    switch (path) {
      case '/':
        return send('text/html', page('Development store', 'start', startPage(options)))
      case '/mail':
        return send('text/html', page('Mail', 'mail', mailPage(options.mails())))
      case '/webhooks':
        return send('text/html', page('Webhooks', 'webhooks', webhooksPage(options.events())))
      case '/style.css':
        return send('text/css', STYLE)
      case '/live.js':
        return send('text/javascript', LIVE_SCRIPT)
      case '/changes':
        response.writeHead(200, { ...HEADERS, 'content-type': 'text/event-stream' }).write(':\n\n')
        watching.add(response)
        return void response.once('close', () => watching.delete(response))
      default:
        if (STATUS_FILE.test(path)) {
          const file = await readFile(join(options.statusFolder, basename(path)), 'utf8')
          return send(STATUS_TYPES[extname(path)] ?? '', file)
        }
        return void response.writeHead(404, HEADERS).end('There is no such page.')
    }
  }

  function sendMail({ html }: ReceivedMail, response: ServerResponse): void {
    const headers = { ...HEADERS, 'content-security-policy': MAIL_POLICY }
    response.writeHead(200, { ...headers, 'content-type': 'text/html; charset=utf-8' })
    response.end(html.replace('<head>', '<head><base target="_blank">'))
  }

  async function signIn(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A page of another site must not sign somebody in here.
    if (request.headers.origin !== origin)
      return void response.writeHead(403, HEADERS).end(`This form is at ${origin}/`)
    let form = ''
    for await (const chunk of request) if (form.length < FORM_BYTES_MAX) form += chunk
    const email = new URLSearchParams(form).get('email') ?? ''
    const user_agent = request.headers['user-agent'] ?? ''
    const cookie = await options.signIn(email, { address: '127.0.0.1', user_agent })
    if (cookie === undefined)
      return void response
        .writeHead(404, HEADERS)
        .end('There is no such person in this store. Start over with: npm run dev -- --reset')
    response.writeHead(303, { ...HEADERS, 'set-cookie': cookie, location: options.dashboard }).end()
  }

  server.listen(options.port, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: origin,
    changed() {
      for (const response of watching) response.write('data: changed\n\n')
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

function startPage({ links, people }: PagesOptions): string {
  const rows = people().map(
    ({ name, email, what, totp_secret }) => `<tr>
      <td><strong>${escaped(name)}</strong><br><code>${escaped(email)}</code></td>
      <td>${escaped(what)}</td>
      <td>${totp_secret === null ? 'none set up' : `<code class="code">${totpCode(totp_secret, Date.now())}</code>`}</td>
      <td><form method="post" action="/sign-in"><button name="email" value="${escaped(email)}">Sign in</button></form></td>
    </tr>`,
  )
  const list = Object.entries(links).map(
    ([name, url]) => `<li>${escaped(name)}: <a href="${escaped(url)}">${escaped(url)}</a></li>`,
  )
  return `<ul>${list.join('')}</ul>
    <h2>People</h2>
    ${
      rows.length === 0
        ? '<p>This store is empty. The terminal says how to make an account and invite its first owner.</p>'
        : `<p>Each button signs you in as that person, with a fresh second factor. Everybody's password is <code>${escaped(DEMO_PASSWORD)}</code>;
           the code is what their authenticator app shows now.</p>
           <table><thead><tr><th>Who</th><th>Where</th><th>Code</th><th></th></tr></thead><tbody>${rows.join('')}</tbody></table>`
    }`
}

function mailPage(mails: readonly ReceivedMail[]): string {
  if (mails.length === 0)
    return '<p>No mail yet. Invite somebody, or ask for a new password, and it appears here.</p>'
  return mails
    .map(
      ({ id, at, to, subject, text }) => `<article><h2>${escaped(subject)}</h2>
        <p class="meta">to ${escaped(to)} · ${time(at)} · <a href="/mail/${escaped(id)}">on its own</a></p>
        <iframe src="/mail/${escaped(id)}" title="${escaped(subject)}" loading="lazy"></iframe>
        <details><summary>As plain text</summary><pre>${linked(text)}</pre></details></article>`,
    )
    .join('')
}

function webhooksPage(events: readonly ReceivedEvent[]): string {
  if (events.length === 0)
    return `<p>No events yet. Buy something with the command in the terminal: its events arrive here, and every signature is
      verified with the SDK.</p>`
  return events
    .map(({ at, account, event, id, status, verdict, body }) => {
      const isVerified = verdict === 'verified'
      return `<article><h2><code>${escaped(event)}</code> <span class="${isVerified ? 'ok' : 'bad'}">${escaped(verdict)}</span></h2>
        <p class="meta">${escaped(account)} · <code>${escaped(id)}</code> · ${time(at)} · answered ${status}</p>
        <details><summary>Body</summary><pre>${escaped(body)}</pre></details></article>`
    })
    .join('')
}

function page(title: string, name: string, body: string): string {
  const link = (path: string, text: string, of: string) =>
    `<a href="${path}"${of === name ? ' aria-current="page"' : ''}>${text}</a>`
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
    <title>${escaped(title)} · Shopwire development</title><link rel="stylesheet" href="/style.css"><script src="/live.js" defer></script>
    <nav>${link('/', 'Start', 'start')}${link('/mail', 'Mail', 'mail')}${link('/webhooks', 'Webhooks', 'webhooks')}</nav>
    <main><h1>${escaped(title)}</h1>${body}</main></html>`
}

function time(at: string): string {
  return `<time datetime="${escaped(at)}">${escaped(at.replace('T', ' ').slice(0, 19))} UTC</time>`
}

/** Addresses in a plain text can be followed. */
function linked(text: string): string {
  return text
    .split(/(https?:\/\/[^\s<>"]+[^\s<>".,;)])/)
    .map((part, n) => (n % 2 === 1 ? `<a href="${escaped(part)}">${escaped(part)}</a>` : escaped(part)))
    .join('')
}

function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    '&': 'amp',
    '<': 'lt',
    '>': 'gt',
    '"': 'quot',
    "'": '#39',
  }
  return text.replaceAll(/[&<>"']/g, (letter) => `&${names[letter]};`)
}
