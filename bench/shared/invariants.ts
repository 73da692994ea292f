import { checkInvariants } from '@shopwire/test-kit/invariants'
import { say } from './figures.ts'

/** After every bench: a fast store that breaks a rule of the data is not fast. */
export async function assertInvariants({ superuserUrl }: { readonly superuserUrl: string }): Promise<void> {
  const broken = await checkInvariants(superuserUrl)
  if (broken.length === 0) return
  for (const { rule, what, ids } of broken) say(`${rule}  ${what}  ${ids.slice(0, 3).join(', ')}`)
  throw new Error(`rules of the data are violated: ${broken.map(({ rule }) => rule).join(', ')}`)
}
