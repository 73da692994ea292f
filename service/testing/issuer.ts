import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** What of `oidc-provider`, which has no types, is used here. */
interface Provider {
  callback(): RequestListener
  interactionDetails(request: unknown, response: unknown): Promise<{ prompt: { name: string } }>
  interactionFinished(request: unknown, response: unknown, result: object): Promise<void>
  Grant: new (owner: {
    clientId: string
    accountId: string
  }) => { addOIDCScope(scope: string): void; save(): Promise<string> }
}

export interface TestIssuer {
  readonly url: string
  readonly client_id: string
  readonly client_secret: string
  /** Who signs in next at this company, and what it says about them. */
  person: { sub: string; email: string; email_verified: boolean; name: string }
  /** Follows the browser's way through the issuer; returns where it is sent back to. */
  signIn(authorizationUrl: string): Promise<URL>
  close(): Promise<void>
}

/** A real OpenID Connect provider on a port of its own. */
export async function startIssuer(redirectUri: string): Promise<TestIssuer> {
  const server: Server = createServer((request, response) => handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const [client_id, client_secret] = ['dashboard', 'a secret of the client, long enough']
  const person = { sub: 'u1', email: 'u1@company.example', email_verified: true, name: 'U One' }
  const self = { url, client_id, client_secret, person } as TestIssuer

  const { default: Provider } = (await import('oidc-provider' as string)) as {
    default: new (issuer: string, configuration: object) => Provider
  }
  const provider = new Provider(url, {
    clients: [
      {
        client_id,
        client_secret,
        redirect_uris: [redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
      },
    ],
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    // By the standard's default the id token has no address, and the dashboard has to ask for it.
    conformIdTokenClaims: true,
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_: unknown, { uid }: { uid: string }) => `/interaction/${uid}` },
    findAccount: (_: unknown, sub: string) => ({ accountId: sub, claims: () => ({ ...self.person, sub }) }),
    cookies: { keys: ['only for tests'] },
    async loadExistingGrant({
      oidc,
    }: {
      oidc: { client: { clientId: string }; session: { accountId: string } }
    }) {
      const grant = new provider.Grant({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
      grant.addOIDCScope('openid email profile')
      await grant.save()
      return grant
    },
  })
  const answer = provider.callback()
  const handle: RequestListener = (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return answer(request, response)
    provider
      .interactionFinished(request, response, { login: { accountId: self.person.sub } })
      .catch(() => response.destroy())
  }

  self.signIn = async (authorizationUrl) => {
    const cookies = new Map<string, string>()
    let next = authorizationUrl
    for (let hops = 0; hops < 10; hops += 1) {
      const response = await fetch(next, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map((pair) => pair.join('=')).join('; ') },
      })
      for (const line of response.headers.getSetCookie()) {
        const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
        cookies.set(name, value)
      }
      const location = response.headers.get('location')
      if (location === null)
        throw new Error(`the issuer answered ${response.status}: ${await response.text()}`)
      const target = new URL(location, url)
      if (target.origin !== url) return target
      next = target.href
    }
    throw new Error('the issuer redirects without end')
  }
  self.close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return self
}
