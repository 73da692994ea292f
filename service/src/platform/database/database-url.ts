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

/**
 * Waiting does not help: PostgreSQL does not prove its identity as sslmode=verify-full demands, or a pooling proxy refuses what a session
 * needs. The message says what to correct.
 */
export class UnusableDatabase extends Error {
  override readonly name = 'UnusableDatabase'
}

/** The error of a connection or a statement as a message that says what to do, if a setting is the cause. */
export function unusableDatabase(error: unknown): UnusableDatabase | undefined {
  if (isRefusedByPooler(error)) return new UnusableDatabase(POOLED, { cause: error })
  if (isCertificateError(error)) {
    return new UnusableDatabase(
      `The certificate of PostgreSQL is not accepted (${error.code}): ${WHY[error.code] ?? WRONG_AUTHORITY}`,
      { cause: error },
    )
  }
  if (!(error instanceof Error) || error.message !== 'The server does not support SSL connections')
    return undefined
  return new UnusableDatabase(
    'PostgreSQL offers no TLS, and the sslmode of the database URL requires it. Set "ssl = on" with a certificate at the server.',
    { cause: error },
  )
}

/** A start-up parameter that PgBouncer does not know, or a named statement of another session (or none) in the server's session. */
const isRefusedByPooler = (error: unknown) =>
  error instanceof pg.DatabaseError &&
  ((error.code === '08P01' && error.message.includes('startup parameter')) ||
    error.code === '42P05' ||
    error.code === '26000')

const POOLED =
  'The database URL leads to a proxy that pools transactions, such as PgBouncer, which takes neither settings of a session nor named statements. ' +
  'Set SHOPWIRE_DATABASE_NAMED_STATEMENTS=false and give each login its time limits ("PgBouncer" on the page "High availability"), or name PostgreSQL itself.'

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
    throw unusableDatabase(error) ?? error
  }
}
