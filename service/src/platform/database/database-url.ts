import pg from 'pg'
import { isCertificateError } from './certificate-errors.ts'

/** How the driver reads a database URL: with its parameters and the driver's environment variables (PGHOST). */
export interface DatabaseAddress {
  readonly host: string
  /** As written in the URL. */
  readonly sslmode: string | undefined
  /** Whether the connection is encrypted and the certificate and its name are checked. */
  readonly isChecked: boolean
}

/** Fails when the URL cannot be read, or a file that it names. The message never contains the URL, which may hold a password. */
export function readDatabaseUrl(url: string): DatabaseAddress {
  // Not connected.
  const { host, ssl } = parsed(url)
  return {
    host,
    sslmode: [...url.matchAll(/[?&]sslmode=([^&]*)/g)].at(-1)?.[1],
    isChecked: isCertificateChecked(ssl),
  }
}

function parsed(url: string): pg.Client {
  try {
    return new pg.Client({ connectionString: url })
  } catch (error) {
    const { code, path } = error as NodeJS.ErrnoException
    throw new Error(
      path === undefined
        ? 'must be a postgres:// URL; percent-encode special characters in the password'
        : `the file ${path} of sslrootcert, sslcert or sslkey cannot be read (${code})`,
    )
  }
}

function isCertificateChecked(ssl: unknown): boolean {
  if (typeof ssl !== 'object' || ssl === null) return ssl === true
  return (
    !('checkServerIdentity' in ssl) && (ssl as { rejectUnauthorized?: boolean }).rejectUnauthorized !== false
  )
}

/** PostgreSQL does not prove its identity as sslmode=verify-full demands. The message says what to correct. */
export class UntrustedDatabase extends Error {
  override readonly name = 'UntrustedDatabase'
}

/** The error of a connection as a message that says what to do, if it is about TLS. */
export function untrustedDatabase(error: unknown): UntrustedDatabase | undefined {
  if (isCertificateError(error)) {
    return new UntrustedDatabase(
      `The certificate of PostgreSQL is not accepted (${error.code}): ${WHY[error.code] ?? WRONG_AUTHORITY}`,
      { cause: error },
    )
  }
  if (!(error instanceof Error) || error.message !== 'The server does not support SSL connections')
    return undefined
  return new UntrustedDatabase(
    'PostgreSQL offers no TLS, and the sslmode of the database URL requires it. Set "ssl = on" with a certificate at the server.',
    { cause: error },
  )
}

const WRONG_AUTHORITY =
  'its authority is not trusted. Add &sslrootcert=/path/of/authority.pem to the database URL, or set NODE_EXTRA_CA_CERTS to that file.'
const WHY: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired. Renew it at the server and reload PostgreSQL.',
  CERT_NOT_YET_VALID: 'it is not valid yet. Compare the clocks of both machines.',
  ERR_TLS_CERT_ALTNAME_INVALID:
    'it is for another host name. Use a name of the certificate in the database URL, or issue one for the name that is used.',
}

/** For commands that open their own connection. */
export async function connectClient(client: pg.Client): Promise<void> {
  try {
    await client.connect()
  } catch (error) {
    throw untrustedDatabase(error) ?? error
  }
}
