import { answer, endpoint } from './endpoint.ts'

export const getPing = () =>
  endpoint('getPing', async ({ caller }) =>
    // A suspended caller never gets here, so there is only one value for now.
    answer(200, { ok: true, name: caller.account_name, status: 'active', account_status: 'active' }),
  )
