import { once } from 'node:events'
import { appendFile, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface ReceivedMail {
  readonly at: string
  readonly to: string
  readonly subject: string
  readonly text: string
}

export interface MailInbox {
  /** For SHOPWIRE_SMTP_URL. */
  readonly url: string
  /** Newest first. */
  mails(): readonly ReceivedMail[]
  close(): Promise<void>
}

const KEPT_MAX = 300

/** A mail server that delivers to nobody: what the store sends is kept in a file and shown on a page. */
export async function startMailInbox(file: string, onMail: () => void): Promise<MailInbox> {
  const mails = await readKept(file)
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['AUTH', 'STARTTLS'],
    onData(stream, _session, done) {
      keep(stream).then(() => done(), done)
    },
  })
  async function keep(stream: AsyncIterable<Buffer>): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    const { to = [], subject = '', text = '' } = await PostalMime.parse(Buffer.concat(chunks))
    const at = new Date().toISOString()
    const mail = { at, to: to.map(({ address }) => address).join(', '), subject, text }
    mails.push(mail)
    await appendFile(file, `${JSON.stringify(mail)}\n`, { mode: 0o600 })
    onMail()
  }
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails: () => mails.slice(-KEPT_MAX).reverse(),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

async function readKept(file: string): Promise<ReceivedMail[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  return text
    .split('\n')
    .filter((line) => line !== '')
    .slice(-KEPT_MAX)
    .map((line) => JSON.parse(line) as ReceivedMail)
}
