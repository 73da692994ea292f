import type { Reply } from '../api/client.ts'
import { useRead } from '../api/hooks.ts'
import { readAgainEveryMs } from '../api/routes.generated.ts'

/** What the rail and the banner say about the store. */
export type StoreState = Reply<'getStore'>

/** Needs an account: without one, the service answers nothing about the store either. */
export const useStoreState = (isInAccount: boolean): StoreState | undefined =>
  useRead('getStore', {}, { enabled: isInAccount, refetchEveryMs: readAgainEveryMs.getStore }).data
