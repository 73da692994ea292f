import {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  type Configuration,
  type CustomFetch,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client'

/** A company's own sign-in by OpenID Connect. */
export interface CompanySettings {
  readonly name: string
  readonly issuer: string
  readonly client_id: string
  readonly client_secret: string
  /** Domains for which the issuer's addresses are trusted; lower case. */
  readonly email_domains: readonly string[]
  /** For an issuer without TLS, in development and tests. */
  readonly isInsecureAllowed?: boolean
  /** For every request to the issuer. */
  readonly fetch?: typeof globalThis.fetch
}

/** The identity that the company reports. */
export interface CompanyIdentity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  readonly is_email_verified: boolean
  readonly name: string | undefined
}

/** The values that the answer is checked against. Stored on our side, under a name that only this browser has. */
export interface CompanyChecks {
  readonly state: string
  readonly nonce: string
  readonly code_verifier: string
}

export interface Company {
  readonly name: string
  /** Whether an address, as it is stored, is at a domain of the company. */
  isOwnAddress(email: string): boolean
  begin(): Promise<{ url: string; checks: CompanyChecks }>
  /** Fails when anything in the answer differs from what was requested. */
  finish(callback: URL, checks: CompanyChecks): Promise<CompanyIdentity>
}

export const COMPANY_CALLBACK = '/api/sign-in/company/callback'
const TIMEOUT_S = 10

/** Authorization code flow with PKCE, state and nonce. The issuer's configuration is fetched at the first sign-in, not at the start. */
export function createCompany(settings: CompanySettings, origin: string): Company {
  let known: Promise<Configuration> | undefined
  const configuration = () => {
    known ??= discovery(
      new URL(settings.issuer),
      settings.client_id,
      { client_secret: settings.client_secret },
      undefined,
      {
        timeout: TIMEOUT_S,
        ...(settings.fetch && { [customFetch]: settings.fetch as CustomFetch }),
        ...(settings.isInsecureAllowed && { execute: [allowInsecureRequests] }),
      },
    ).catch((error: unknown) => {
      // The next sign-in fetches it again.
      known = undefined
      throw error
    })
    return known
  }
  return {
    name: settings.name,
    isOwnAddress: (email) => settings.email_domains.includes(email.slice(email.lastIndexOf('@') + 1)),
    async begin() {
      const checks = { state: randomState(), nonce: randomNonce(), code_verifier: randomPKCECodeVerifier() }
      const url = buildAuthorizationUrl(await configuration(), {
        redirect_uri: `${origin}${COMPANY_CALLBACK}`,
        scope: 'openid email profile',
        code_challenge: await calculatePKCECodeChallenge(checks.code_verifier),
        code_challenge_method: 'S256',
        state: checks.state,
        nonce: checks.nonce,
      })
      return { url: url.href, checks }
    },
    async finish(callback, checks) {
      const tokens = await authorizationCodeGrant(await configuration(), callback, {
        pkceCodeVerifier: checks.code_verifier,
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        idTokenExpected: true,
      })
      const claims = tokens.claims()
      if (!claims) throw new Error('the issuer sent no id token')
      // Some issuers put the address into the id token, others return it only from the userinfo endpoint.
      const about =
        claims.email === undefined
          ? await fetchUserInfo(await configuration(), tokens.access_token, claims.sub)
          : claims
      return {
        issuer: claims.iss,
        subject: claims.sub,
        email: typeof about.email === 'string' ? about.email : undefined,
        is_email_verified: about.email_verified === true,
        name: typeof about.name === 'string' ? about.name : undefined,
      }
    },
  }
}
