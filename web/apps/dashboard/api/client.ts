import type { DashboardRouteName, DashboardRouteNamed, QueryOf, ReplyOf } from '@shopwire/contract/dashboard'
import { createClient, type ReadNameOf } from '#client/client.ts'
import { createTransport } from '#client/transport.ts'
import { ACCOUNT_HEADER, ACCOUNT_PARAMETER, CSRF_HEADER, routes } from './routes.generated.ts'
import { shownAccount } from './shown-account.ts'

export type Table = { readonly [Name in DashboardRouteName]: DashboardRouteNamed<Name> }
export type ReadName = ReadNameOf<Table>
export type Reply<Name extends DashboardRouteName> = ReplyOf<Table[Name]>
export type Query<Name extends ReadName> = QueryOf<Table[Name]>

export const transport = createTransport({
  csrfHeader: CSRF_HEADER,
  headers: (): Readonly<Record<string, string>> => {
    const account = shownAccount()
    return account === null ? {} : { [ACCOUNT_HEADER]: account }
  },
})

export const api = createClient<Table>({
  routes,
  transport,
  inAddress: () => ({ [ACCOUNT_PARAMETER]: shownAccount() }),
})
