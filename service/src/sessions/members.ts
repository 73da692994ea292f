import type { Role } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'

export interface MemberRow {
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly role: Role
  readonly joined_at: Date
  readonly has_second_factor: boolean
  readonly last_seen_at: Date | null
}

/** Owners first, then in the order they joined. */
export const selectMembers = (db: Queryable, account_id: string) =>
  db.many<MemberRow>(sql`
    select m.person_id, p.name, p.email, m.role, m.created_at as joined_at,
           p.has_totp or exists (select from passkeys k where k.person_id = p.id) as has_second_factor,
           (select max(s.last_seen_at)
              from sessions s
             where s.person_id = p.id
               and s.account_id = m.account_id) as last_seen_at
      from memberships m
      join people p on p.id = m.person_id
     where m.account_id = ${account_id}
     order by m.role <> 'owner', m.created_at, m.person_id
     limit 1000`)

export const selectOwners = (db: Queryable, account_id: string) =>
  db.many<{ id: string; name: string; email: string }>(sql`
    select p.id, p.name, p.email
      from memberships m
      join people p on p.id = m.person_id
     where m.account_id = ${account_id}
       and m.role = 'owner'
     order by m.person_id`)

/** Adds a person to an account. A person who is a member already keeps their role. */
export async function addMember(
  tx: Queryable,
  member: { account_id: string; person_id: string; role: Role },
  nowMs: number,
): Promise<boolean> {
  const count = await tx.run(sql`
    insert into memberships (account_id, person_id, role, created_at)
    values (${member.account_id}, ${member.person_id}, ${member.role}, ${new Date(nowMs)})
        on conflict (account_id, person_id) do nothing`)
  return count === 1
}

/**
 * Returns the previous role. At least one owner always remains: otherwise no one could invite or remove anybody. `by` must still be
 * an owner, or be the person; undefined for an operator.
 */
export async function changeRole(
  tx: Tx,
  account_id: string,
  person_id: string,
  role: Role,
  by: string | undefined,
): Promise<Role> {
  const before = await lockRole(tx, account_id, person_id, by)
  if (before === 'owner' && role !== 'owner') await assertNotLastOwner(tx, account_id)
  await tx.run(sql`
    update memberships
       set role = ${role}
     where account_id = ${account_id}
       and person_id = ${person_id}`)
  return before
}

/** The role of a member who may be removed from an account, which is locked for that. */
export async function lockForRemoval(
  tx: Tx,
  account_id: string,
  person_id: string,
  by: string | undefined,
): Promise<Role> {
  const before = await lockRole(tx, account_id, person_id, by)
  if (before === 'owner') await assertNotLastOwner(tx, account_id)
  return before
}

/** Removes a person from an account, from their next request on; sessions in other accounts continue. */
export async function removeMember(tx: Tx, account_id: string, person_id: string): Promise<void> {
  await tx.run(sql`
    delete from memberships
     where account_id = ${account_id}
       and person_id = ${person_id}`)
  await tx.run(sql`
    update sessions
       set account_id = null
     where person_id = ${person_id}
       and account_id = ${account_id}`)
}

/** Locks every owner too, in one order, so that two owners cannot remove each other at the same moment. */
async function lockRole(
  tx: Tx,
  account_id: string,
  person_id: string,
  by: string | undefined,
): Promise<Role> {
  const rows = await tx.many<{ person_id: string; role: Role }>(sql`
    select person_id, role
      from memberships
     where account_id = ${account_id}
       and (role = 'owner' or person_id = ${person_id})
     order by person_id
       for update`)
  const isOwner = rows.some((one) => one.person_id === by && one.role === 'owner')
  if (by !== undefined && by !== person_id && !isOwner)
    throw refuse(
      'role_missing',
      'You are not an owner of this account any more, so nothing was changed. Ask an owner, or reload the page.',
    )
  const row = rows.find((one) => one.person_id === person_id)
  if (!row) throw refuse('not_found', 'This person is not a member of the account. Reload the list.')
  return row.role
}

async function assertNotLastOwner(tx: Tx, account_id: string): Promise<void> {
  const { owners } = await tx.one<{ owners: number }>(sql`
    select count(*) as owners
      from memberships
     where account_id = ${account_id}
       and role = 'owner'`)
  if (owners > 1) return
  throw refuse(
    'conflict',
    'This is the only owner, and an account always has one. Make somebody else an owner first, then try again.',
  )
}
