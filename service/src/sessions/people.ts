import type { Role } from '@shopwire/contract/dashboard'
import { PERSON_NAME_LENGTH_MAX } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { newId } from '../platform/text/ids.ts'
import { assertPlain } from '../platform/text/plain-text.ts'
import type { AccountOfPerson } from './signed-in.ts'

export interface Person {
  readonly id: string
  readonly kind: 'customer' | 'operator'
  readonly name: string
  readonly email: string
  readonly email_verified: boolean
  readonly has_totp: boolean
}

export interface Factors {
  readonly has_password: boolean
  readonly has_passkey: boolean
  readonly has_totp: boolean
}

export const CREDENTIAL = 'credential'

/** The same address however it was typed. */
export const tidyEmail = (email: string) => email.trim().toLowerCase()

export function assertPersonName(name: string): void {
  assertPlain('A name', name, PERSON_NAME_LENGTH_MAX)
}

export async function insertPerson(
  tx: Queryable,
  person: { name: string; email: string; kind: Person['kind']; is_email_verified: boolean },
  nowMs: number,
): Promise<string> {
  const [id, now] = [newId('person', nowMs), new Date(nowMs)]
  await tx.run(sql`
    insert into people (id, kind, name, email, email_verified, created_at, updated_at)
    values (${id}, ${person.kind}, ${person.name}, ${person.email}, ${person.is_email_verified}, ${now}, ${now})`)
  return id
}

export const insertCredential = (
  tx: Queryable,
  credential: { person_id: string; provider: string; subject: string; password_hash: string | null },
  nowMs: number,
) =>
  tx.run(sql`
    insert into credentials (id, person_id, provider, subject, password_hash, created_at, updated_at)
    values (${newId('cred', nowMs)}, ${credential.person_id}, ${credential.provider}, ${credential.subject},
            ${credential.password_hash}, ${new Date(nowMs)}, ${new Date(nowMs)})`)

export const selectPerson = (db: Queryable, id: string) =>
  db.maybeOne<Person>(sql`
    select id, kind, name, email, email_verified, has_totp
      from people
     where id = ${id}`)

export const selectPersonByEmail = (db: Queryable, email: string) =>
  db.maybeOne<Person>(sql`
    select id, kind, name, email, email_verified, has_totp
      from people
     where email = ${tidyEmail(email)}`)

/** With the hash of their password, if they have one. */
export const selectSignIn = (db: Queryable, email: string) =>
  db.maybeOne<Person & { readonly password_hash: string | null }>(sql`
    select p.id, p.kind, p.name, p.email, p.email_verified, p.has_totp, c.password_hash
      from people p
      left join credentials c on c.person_id = p.id and c.provider = ${CREDENTIAL}
     where p.email = ${tidyEmail(email)}`)

export const selectPersonBySubject = (db: Queryable, provider: string, subject: string) =>
  db.maybeOne<Person>(sql`
    select p.id, p.kind, p.name, p.email, p.email_verified, p.has_totp
      from credentials c
      join people p on p.id = c.person_id
     where c.provider = ${provider}
       and c.subject = ${subject}`)

export const selectFactors = (db: Queryable, person_id: string) =>
  db.one<Factors>(sql`
    select p.has_totp,
           exists (select from credentials c
                    where c.person_id = p.id
                      and c.password_hash is not null) as has_password,
           exists (select from passkeys k where k.person_id = p.id) as has_passkey
      from people p
     where p.id = ${person_id}`)

export const selectAccountsOf = (db: Queryable, person_id: string) =>
  db.many<AccountOfPerson>(sql`select id, name, role from accounts_of_person(${person_id})`)

export const updatePersonName = (tx: Queryable, id: string, name: string, nowMs: number) =>
  tx.run(sql`update people set name = ${name}, updated_at = ${new Date(nowMs)} where id = ${id}`)

export const markEmailVerified = (tx: Queryable, id: string, nowMs: number) =>
  tx.run(sql`
    update people
       set email_verified = true, updated_at = ${new Date(nowMs)}
     where id = ${id}
       and not email_verified`)

export const updatePasswordHash = (tx: Queryable, person_id: string, hash: string, nowMs: number) =>
  tx.run(sql`
    update credentials
       set password_hash = ${hash}, updated_at = ${new Date(nowMs)}
     where person_id = ${person_id}
       and provider = ${CREDENTIAL}`)

/** Undefined for a person who signs in through their company and has none. */
export async function putPassword(tx: Tx, person_id: string, hash: string, nowMs: number): Promise<void> {
  if ((await updatePasswordHash(tx, person_id, hash, nowMs)) > 0) return
  const credential = { person_id, provider: CREDENTIAL, subject: person_id, password_hash: hash }
  await insertCredential(tx, credential, nowMs)
}

export const selectPasswordHash = (db: Queryable, person_id: string) =>
  db.maybeOne<{ password_hash: string | null }>(sql`
    select password_hash
      from credentials
     where person_id = ${person_id}
       and provider = ${CREDENTIAL}`)

/** Until the end of the transaction the password stays what it was when it was compared. False when it has changed since. */
export async function holdPassword(tx: Tx, person_id: string, hash: string): Promise<boolean> {
  const held = await tx.maybeOne(sql`
    select id
      from credentials
     where person_id = ${person_id}
       and provider = ${CREDENTIAL}
       and password_hash = ${hash}
       for no key update`)
  return held !== undefined
}

/** Everything a second factor consists of. The password stays. */
export async function removeFactors(tx: Tx, person_id: string, nowMs: number): Promise<void> {
  await removeTotp(tx, person_id, nowMs)
  await tx.run(sql`delete from passkeys where person_id = ${person_id}`)
}

export async function removeTotp(tx: Tx, person_id: string, nowMs: number): Promise<void> {
  await tx.run(
    sql`update people set has_totp = false, updated_at = ${new Date(nowMs)} where id = ${person_id}`,
  )
  await tx.run(sql`delete from authenticator_apps where person_id = ${person_id}`)
}

export const ROLE_NAMES: Record<Role, string> = {
  owner: 'Owner',
  developer: 'Developer',
  finance: 'Finance',
  viewer: 'Viewer',
}
