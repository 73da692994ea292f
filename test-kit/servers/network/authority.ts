import { execFile } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

/** A temporary certificate authority; processes trust it through NODE_EXTRA_CA_CERTS. */
export async function createAuthority({ days = 2 } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'shopwire-ca-'))
  const path = (name: string) => join(folder, name)
  const openssl = (...args: string[]) => promisify(execFile)('openssl', args, { cwd: folder })
  await openssl(
    ...[
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      '-nodes',
      '-days',
      String(days),
    ],
    ...['-subj', '/CN=Test authority', '-keyout', 'ca.key', '-out', 'ca.pem'],
  )
  return {
    file: path('ca.pem'),
    /** Issues a certificate for names or addresses, such as `DNS:hook.example.net` or `IP:93.184.216.34`. */
    async issue(
      subject: string,
      { days: validDays = days, isSelfSigned = false } = {},
    ): Promise<Certificate> {
      const name = `${Math.random()}`
      await writeFile(path(`${name}.ext`), `subjectAltName=${subject}\n`)
      await openssl(
        ...['req', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-subj', '/CN=receiver'],
        ...['-keyout', `${name}.key`, '-out', `${name}.csr`],
      )
      const signer = isSelfSigned
        ? ['-signkey', `${name}.key`]
        : ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-set_serial', String(randomInt(2 ** 40))]
      await openssl(
        ...['x509', '-req', '-in', `${name}.csr`, '-days', String(validDays), '-extfile', `${name}.ext`],
        ...[...signer, '-out', `${name}.pem`],
      )
      return {
        key: await readFile(path(`${name}.key`), 'utf8'),
        cert: await readFile(path(`${name}.pem`), 'utf8'),
      }
    },
    remove: () => rm(folder, { recursive: true }),
  }
}
