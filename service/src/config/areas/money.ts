import { z } from 'zod'
import { type Given, secret } from '../values.ts'

export const moneySettings = {
  SHOPWIRE_BANK_DETAILS: z
    .string()
    .transform((text) => text.split(';').map((line) => line.split('=').map((part) => part.trim())))
    .refine(
      (lines) => lines.every(({ length, 0: label, 1: value }) => length === 2 && label && value),
      'must be lines such as "Beneficiary=Example Ltd; IBAN=GB33BUKB20201555555555; BIC=BUKBGB22"',
    )
    .transform((lines) => lines.map(([label = '', value = '']) => ({ label, value })))
    .optional()
    .describe(
      'where customers transfer money to, as "label=value" separated by semicolons; without it the dashboard offers no bank transfer',
    ),
  SHOPWIRE_STRIPE_SECRET_KEY: secret(
    z
      .string()
      .regex(/^(sk|rk)_(live|test)_[A-Za-z0-9]+$/, 'must be a secret or restricted key of Stripe')
      .optional()
      .describe(
        'for dashboard and worker: takes card payments by Stripe Checkout; without it the dashboard offers none',
      ),
  ),
  SHOPWIRE_STRIPE_WEBHOOK_SECRETS: secret(
    z
      .string()
      .transform((text) => text.split(',').map((secret) => secret.trim()))
      .pipe(
        z.array(z.string().regex(/^whsec_.{8,}$/, 'must be signing secrets (whsec_…), separated by commas')),
      )
      .optional()
      .describe(
        'of the Stripe endpoint at `/payments/stripe` of the dashboard; several while one replaces another',
      ),
  ),
  SHOPWIRE_STRIPE_API_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('Stripe itself by default; another server for tests'),
  SHOPWIRE_TOP_UP_MIN_CENTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000_00)
    .default(50_00)
    .describe('smallest top-up that the dashboard accepts'),
  SHOPWIRE_TOP_UP_MAX_CENTS: z.coerce
    .number()
    .int()
    .min(1)
    .max(100_000_000_00)
    .default(100_000_00)
    .describe('largest top-up that the dashboard accepts; a card takes at most 999,999.99'),
}

export function moneyProblems(given: Given): string[] {
  const problems: string[] = []
  const [least, most] = [given.SHOPWIRE_TOP_UP_MIN_CENTS, given.SHOPWIRE_TOP_UP_MAX_CENTS]
  if (Number(least ?? 50_00) > Number(most ?? 100_000_00))
    problems.push('SHOPWIRE_TOP_UP_MIN_CENTS is larger than SHOPWIRE_TOP_UP_MAX_CENTS: no top-up fits both')
  if (given.SHOPWIRE_STRIPE_WEBHOOK_SECRETS !== undefined && given.SHOPWIRE_STRIPE_SECRET_KEY === undefined)
    problems.push('SHOPWIRE_STRIPE_SECRET_KEY is required when SHOPWIRE_STRIPE_WEBHOOK_SECRETS is set')
  return problems
}
