import { type ChosenMail, mailKinds, type Role } from '@shopwire/contract/dashboard'
import { type Queryable, sql, type Tx } from '../platform/database/db.ts'
import { refuse } from '../platform/trouble.ts'

/** A member, and which kinds of mail they have chosen to get or not. */
export interface MailMember {
  readonly person_id: string
  readonly name: string
  readonly email: string
  readonly role: Role
  /** Whether they have confirmed their address. */
  readonly is_confirmed: boolean
  readonly wanted: readonly string[]
  readonly unwanted: readonly string[]
}

/**
 * Kinds that anybody can cause at no cost, with the account's name in it: they are sent to nobody who has not confirmed that the address
 * is theirs.
 */
const ONLY_CONFIRMED: ReadonlySet<ChosenMail> = new Set(['balance_alert', 'webhook_trouble'])

/** Owners first, then in the order they joined. */
export const selectMailMembers = (db: Queryable, account_id: string) =>
  db.many<MailMember>(sql`
    select m.person_id, p.name, p.email, m.role, p.email_verified as is_confirmed,
           array(select c.kind
                   from mail_choices c
                  where c.account_id = m.account_id and c.person_id = m.person_id and c.is_wanted) as wanted,
           array(select c.kind
                   from mail_choices c
                  where c.account_id = m.account_id and c.person_id = m.person_id and not c.is_wanted) as unwanted
      from memberships m
      join people p on p.id = m.person_id
     where m.account_id = ${account_id}
     order by m.role <> 'owner', m.created_at, m.person_id
     limit 1000`)

/** Who gets mail of this kind now, and who will once they have confirmed their address. */
export function readersOf(kind: ChosenMail, members: readonly MailMember[]) {
  const chosen = members.filter((one) => wantsMail(one, kind))
  // The owners who wanted it may have left, or have another role now: then the others get it, whatever they chose.
  const all = chosen.some(isOwner) ? chosen : members.filter((one) => isOwner(one) || chosen.includes(one))
  const gets = ({ is_confirmed }: MailMember) => is_confirmed || !ONLY_CONFIRMED.has(kind)
  return { goesTo: all.filter(gets), waitsFor: all.filter((one) => !gets(one)) }
}

/**
 * `choice`: whether this member gets it from now on; undefined leaves them as they are. Refuses when no owner would get it any more. Call it
 * in an action of the account, which runs alone: of two owners who turn it off at the same time, the second is refused. Returns whom the
 * choice is about, as they were before.
 */
export async function chooseMail(
  tx: Tx,
  account_id: string,
  kind: ChosenMail,
  choice: (member: MailMember) => boolean | undefined,
): Promise<readonly MailMember[]> {
  const members = await selectMailMembers(tx, account_id)
  const wantsThen = (one: MailMember) => choice(one) ?? wantsMail(one, kind)
  if (!members.some((one) => isOwner(one) && wantsThen(one))) {
    throw refuse(
      'conflict',
      `At least one owner gets the mail "${mailKinds[kind].title}", and no other owner does. Nothing was changed. Turn it on for another owner first.`,
    )
  }
  const asked = members.filter((one) => choice(one) !== undefined)
  const ids = asked.map(({ person_id }) => person_id)
  await upsertChoices(tx, account_id, kind, ids, asked.map(wantsThen))
  return asked
}

const isOwner = ({ role }: MailMember) => role === 'owner'

/** Until they choose, members get what their role needs. */
export const wantsMail = ({ role, wanted, unwanted }: MailMember, kind: ChosenMail) =>
  wanted.includes(kind) || (mailKinds[kind].roles.includes(role) && !unwanted.includes(kind))

const upsertChoices = (
  tx: Tx,
  account_id: string,
  kind: ChosenMail,
  person_ids: readonly string[],
  are_wanted: readonly boolean[],
) =>
  tx.run(sql`
    insert into mail_choices as c (account_id, person_id, kind, is_wanted)
    select ${account_id}, w.person_id, ${kind}, w.is_wanted
      from unnest(${person_ids}::text[], ${are_wanted}::boolean[]) as w (person_id, is_wanted)
     order by w.person_id
        on conflict (account_id, person_id, kind) do update
       set is_wanted = excluded.is_wanted
     where c.is_wanted <> excluded.is_wanted`)
