import { createSecureContext, type SecureContext, type TLSSocket } from 'node:tls'

/** The certificate is checked again after this time; the address is checked at every connection. */
const SESSION_MS_MAX = 600_000
const SESSIONS_MAX = 10_000

interface Session {
  readonly ticket: Buffer
  /** When the certificate of the receiver was checked. */
  readonly checkedMs: number
}

/**
 * What makes a handshake cheap: one secure context for all connections, where each would make its own, and sessions that are resumed, which
 * costs either side less than half of a handshake. A session belongs to one account and host, and is used until the receiver sends another
 * one. (TLS 1.3 advises to use each once, so that a client is not recognised; ours signs what it sends.)
 */
export interface TlsSessions {
  readonly context: SecureContext
  find(key: string): Session | undefined
  /** Remembers the sessions of a connection, from the moment its receiver's certificate has been checked on. */
  follow(key: string, socket: TLSSocket, resumed: Session | undefined): void
}

export function createTlsSessions(nowMs = () => performance.now()): TlsSessions {
  /** The one that was kept first comes first. */
  const sessions = new Map<string, Session>()

  function keep(key: string, session: Session) {
    sessions.delete(key)
    const [oldest] = sessions.size >= SESSIONS_MAX ? sessions.keys() : []
    if (oldest !== undefined) sessions.delete(oldest)
    sessions.set(key, session)
  }

  return {
    context: createSecureContext({ minVersion: 'TLSv1.2' }),
    find(key) {
      const known = sessions.get(key)
      return known && nowMs() - known.checkedMs < SESSION_MS_MAX ? known : undefined
    },
    follow(key, socket, resumed) {
      // Before TLS 1.3 the ticket comes first. Node compares no name with the certificate of a resumed session, so none is kept of a
      // receiver whose certificate did not pass.
      let checkedMs: number | undefined
      let early: Buffer | undefined
      socket.on('session', (ticket) => {
        if (checkedMs === undefined) early = ticket
        else keep(key, { ticket, checkedMs })
      })
      socket.once('secureConnect', () => {
        checkedMs = socket.isSessionReused() && resumed ? resumed.checkedMs : nowMs()
        if (early) keep(key, { ticket: early, checkedMs })
      })
    },
  }
}
