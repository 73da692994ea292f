import {
  type ChosenMail,
  chosenMails,
  type MailKindName,
  type MailPreferences,
  mailKinds,
  type mailRoutes,
} from '@shopwire/contract/dashboard'
import { selectConfirmed } from '../../funding/alert-addresses.ts'
import { selectAlert } from '../../funding/balance-alert.ts'
import { inAccount } from '../../platform/database/account-scope.ts'
import type { Db, Queryable } from '../../platform/database/db.ts'
import { refuse } from '../../platform/trouble.ts'
import {
  chooseMail,
  type MailMember,
  readersOf,
  selectMailMembers,
  wantsMail,
} from '../../sessions/mail-choices.ts'
import type { MemberAct } from '../act.ts'
import type { Area } from '../area.ts'
import type { Member } from '../member.ts'

export interface MailDeps {
  readonly db: Db
  readonly act: MemberAct
}

/** Who gets which mail about the account. */
export function mailArea({ db, act }: MailDeps): Area<typeof mailRoutes> {
  const choose = (member: Member, person_id: string, kind: ChosenMail, is_on: boolean) =>
    act(member, 'mail.choose', async (tx) => {
      const { account_id } = member
      const [before] = await chooseMail(tx, account_id, kind, (one) =>
        one.person_id === person_id ? is_on : undefined,
      )
      if (!before) throw refuse('not_found', 'This person is not a member of the account. Reload the page.')
      return {
        result: await readPreferences(tx, member),
        target: person_id,
        before: { [kind]: wantsMail(before, kind) },
        after: { [kind]: is_on },
      }
    })
  return {
    getMailPreferences: ({ member }) => inAccount(db, member.account_id, (tx) => readPreferences(tx, member)),
    setOwnMail: ({ member, body: { kind, is_on } }) => choose(member, member.person_id, kind, is_on),
    setMemberMail: ({ member, body: { person_id, kind, is_on } }) => choose(member, person_id, kind, is_on),
  }
}

async function readPreferences(tx: Queryable, { account_id, person_id }: Member): Promise<MailPreferences> {
  const members = await selectMailMembers(tx, account_id)
  const hasThreshold = ((await selectAlert(tx, account_id))?.threshold_cents ?? null) !== null
  const addresses = (await selectConfirmed(tx, account_id)).map(({ email }) => email)
  return {
    members: members.map(({ person_id: id, name, role, is_confirmed }) => ({
      person_id: id,
      name,
      role,
      is_you: id === person_id,
      is_confirmed,
    })),
    kinds: (Object.keys(mailKinds) as MailKindName[]).map((kind) => ({
      kind,
      title: mailKinds[kind].title,
      about: mailKinds[kind].about,
      can_choose: isChosen(kind),
      is_sent: kind !== 'balance_alert' || hasThreshold,
      addresses: kind === 'balance_alert' ? addresses : [],
      ...recipientsOf(kind, members),
    })),
  }
}

const isChosen = (kind: MailKindName): kind is ChosenMail => chosenMails.some((one) => one === kind)

/** These concern one person, or an address that is not in the team. */
const TO_ONE: readonly MailKindName[] = ['own_sign_in', 'invitation']

function recipientsOf(kind: MailKindName, members: readonly MailMember[]) {
  const ids = (some: readonly MailMember[]) => some.map(({ person_id }) => person_id)
  if (isChosen(kind)) {
    const { goesTo, waitsFor } = readersOf(kind, members)
    return { goes_to: ids(goesTo), waits_for: ids(waitsFor) }
  }
  const goes_to = TO_ONE.includes(kind) ? null : ids(members.filter(({ role }) => role === 'owner'))
  return { goes_to, waits_for: [] }
}
