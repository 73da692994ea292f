import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'
import { openKeptLines } from './kept-lines.ts'

export interface ReceivedMail {
  /** Ours; a mail that is sent again has the same. */
  readonly id: string
  readonly at: string
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
}

export interface MailInbox {
  /** For SHOPWIRE_SMTP_URL. */
  readonly url: string
  /** Newest first. */
  mails(): readonly ReceivedMail[]
  close(): Promise<void>
}

/** A mail server that delivers to nobody: what the store sends is kept in a file and shown on a page. */
export async function startMailInbox(file: string, onMail: () => void): Promise<MailInbox> {
  const mails = await openKeptLines<ReceivedMail>(file)
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
    const mail = await PostalMime.parse(Buffer.concat(chunks))
    const { to = [], subject = '', text = '', html = '' } = mail
    const id = mail.headers.find(({ key }) => key === 'x-shopwire-mail')?.value ?? ''
    const at = new Date().toISOString()
    await mails.add({ id, at, to: to.map(({ address }) => address).join(', '), subject, text, html })
    onMail()
  }
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    mails: mails.newestFirst,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  }
}
