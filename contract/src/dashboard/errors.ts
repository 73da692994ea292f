/**
 * Errors of the dashboard's API that the signed API does not have. Both write `{error:{type,message}}`. A type belongs to one status.
 */
export const dashboardErrorTypes = {
  sign_in_required: { status: 401, meaning: 'Nobody is signed in, or the session has ended.' },
  sign_in_failed: {
    status: 401,
    meaning: 'The address and the password, code or passkey do not belong together.',
  },
  step_up_required: { status: 403, meaning: 'This needs a second factor given in the last five minutes.' },
  second_factor_missing: {
    status: 403,
    meaning: 'This person has no second factor, and must set one up before anything else.',
  },
  role_missing: { status: 403, meaning: 'Your role in this account does not allow this.' },
  account_mismatch: {
    status: 409,
    meaning: 'The page shows another account than the session is in now. Nothing was read or changed.',
  },
  request_forged: { status: 403, meaning: 'The request does not come from a page of this dashboard.' },
  too_many_attempts: {
    status: 429,
    meaning: 'Too many attempts from this address or for this person. Wait, or use a passkey.',
  },
  link_invalid: { status: 410, meaning: 'The link was used, has expired or was withdrawn.' },
  conflict: {
    status: 409,
    meaning: 'What you changed has changed meanwhile, or its state does not allow this.',
  },
} as const satisfies Record<string, { readonly status: number; readonly meaning: string }>

export type DashboardErrorType = keyof typeof dashboardErrorTypes
