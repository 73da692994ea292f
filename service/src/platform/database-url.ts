import pg from 'pg'

/** How the driver reads a database URL: with its parameters, and with the driver's own variables (PGHOST). */
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
