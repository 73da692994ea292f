import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import PostalMime from 'postal-mime'
import { SMTPServer } from 'smtp-server'

export interface Mail {
  readonly to: string
  readonly subject: string
  readonly text: string
  readonly html: string
  /** As it came, with its headers. */
  readonly source: string
}

/** An SMTP server that keeps what it gets. */
export interface MailSink {
  readonly url: string
  readonly mails: readonly Mail[]
  /** The first mail to this address whose subject fits, now or as soon as it arrives; each mail is returned once. */
  next(to: string, subject: RegExp): Promise<Mail>
  stop(): Promise<void>
}

const ARRIVAL_MS_MAX = 30_000

export async function startMailSink(): Promise<MailSink> {
  const mails: Mail[] = []
  const taken = new Set<Mail>()
  const waiting = new Set<() => void>()
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onData(stream, session, done) {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', () => {
        const source = Buffer.concat(chunks)
        void PostalMime.parse(source).then(({ subject = '', text = '', html = '' }) => {
          for (const { address } of session.envelope.rcptTo)
            mails.push({ to: address, subject, text, html, source: String(source) })
          for (const look of [...waiting]) look()
          done()
        }, done)
      })
    },
  })
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  const { port } = server.server.address() as AddressInfo
  const take = (to: string, subject: RegExp) => {
    const found = mails.find((mail) => !taken.has(mail) && mail.to === to && subject.test(mail.subject))
    if (found) taken.add(found)
    return found
  }
  return {
    url: `smtp://127.0.0.1:${port}`,
    mails,
    next(to, subject) {
      const known = take(to, subject)
      if (known) return Promise.resolve(known)
      return new Promise((resolve, reject) => {
        const late = setTimeout(() => {
          waiting.delete(look)
          const seen = mails.map((mail) => `${mail.to}: ${mail.subject}`).join('\n')
          reject(new Error(`no mail to ${to} with a subject like ${subject}; so far came:\n${seen}`))
        }, ARRIVAL_MS_MAX)
        const look = () => {
          const found = take(to, subject)
          if (!found) return
          clearTimeout(late)
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
      })
    },
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  }
}

/** The only link of a mail. */
export function linkIn({ text }: Mail): string {
  const links = text.match(/https?:\/\/\S+/g) ?? []
  if (links.length !== 1) throw new Error(`one link expected in the mail, ${links.length} found`)
  return links[0] as string
}
