import { createHmac } from 'node:crypto'
import type { BrowserContext, CDPSession, Page } from 'playwright-core'

const STEP_S = 30
const DIGITS = 6
const BASE32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** What an authenticator app shows for this secret (RFC 6238, SHA-1, 30 s, six digits). */
export function totpCode(secret: string, atMs = Date.now()): string {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(atMs / 1000 / STEP_S)))
  const mac = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  const offset = (mac.at(-1) as number) & 0xf
  const code = (mac.readUInt32BE(offset) & 0x7fffffff) % 10 ** DIGITS
  return String(code).padStart(DIGITS, '0')
}

function fromBase32(text: string): Buffer {
  let bits = ''
  for (const letter of text.replace(/[\s=]/g, '').toUpperCase())
    bits += BASE32.indexOf(letter).toString(2).padStart(5, '0')
  return Buffer.from(bits.match(/.{8}/g)?.map((byte) => Number.parseInt(byte, 2)) ?? [])
}

export interface Authenticator {
  /** Whether the person touches it. */
  setPresent(isPresent: boolean): Promise<void>
}

/** A passkey of the browser's own, always confirmed: DevTools' virtual authenticator. It belongs to one page. */
export async function addAuthenticator(context: BrowserContext, page: Page): Promise<Authenticator> {
  const session: CDPSession = await context.newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async setPresent(isPresent) {
      await session.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled: isPresent })
    },
  }
}
