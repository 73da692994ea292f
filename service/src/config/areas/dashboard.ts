import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { type Given, isDevelopment, port, secret } from '../values.ts'

export const dashboardSettings = {
  SHOPWIRE_DASHBOARD_ORIGIN: z
    .string()
    .refine((text) => URL.canParse(text) && new URL(text).origin === text, {
      error: 'must be a scheme, a host and perhaps a port, such as https://dashboard.example.com',
    })
    .optional()
    .describe('where people open the dashboard, exactly as their browser shows it; a separate host name'),
  SHOPWIRE_DASHBOARD_HOST: z.string().default('0.0.0.0').describe('address the dashboard listens on'),
  SHOPWIRE_DASHBOARD_PORT: port.default(8081).describe('port the dashboard listens on'),
  SHOPWIRE_API_URL: z
    .string()
    .refine((text) => URL.canParse(text) && /^https?:\/\/[^/?#@]+\/v1$/.test(text), {
      error: 'must be the base URL that callers use, such as https://api.example.com/v1',
    })
    .default('https://api.shop.example/v1')
    .describe('base URL of the API as callers use it, for the dashboard and the status page'),
  SHOPWIRE_CONTACT: z
    .string()
    .max(200)
    .optional()
    .describe(
      'whom customers ask about funds and late orders, such as help@example.com; shown in the dashboard and on the status page',
    ),
  SHOPWIRE_SELLER: z
    .string()
    .max(300)
    .transform((text) => text.split(';').map((line) => line.trim()))
    .refine((lines) => lines.length <= 5, 'must be at most five lines')
    .optional()
    .describe(
      'name and address of the seller, at most five lines separated by semicolons; on statements as PDF',
    ),
  SHOPWIRE_WEB_FOLDER: z
    .string()
    .optional()
    .describe(
      'folder of the built application of the dashboard; web/dist/dashboard beside the service by default',
    ),
  SHOPWIRE_SESSION_IDLE_MINUTES: z.coerce
    .number()
    .int()
    .min(1)
    .max(1_440)
    .default(30)
    .describe('a dashboard session ends after this time without a request'),
  SHOPWIRE_SESSION_HOURS: z.coerce
    .number()
    .int()
    .min(1)
    .max(168)
    .default(12)
    .describe('a dashboard session ends after this time, whatever is done in it'),
  SHOPWIRE_OIDC_ISSUER: z
    .string()
    .regex(/^https?:\/\//, 'must be the URL of an OpenID Connect issuer')
    .optional()
    .describe('OpenID Connect issuer of a company, for signing in to the dashboard; off without it'),
  SHOPWIRE_OIDC_CLIENT_ID: z.string().optional().describe('client id that the issuer gave to this dashboard'),
  SHOPWIRE_OIDC_CLIENT_SECRET: secret(z.string().optional().describe('client secret that the issuer gave')),
  SHOPWIRE_OIDC_NAME: z
    .string()
    .max(60)
    .optional()
    .describe('name of the company on the button of the sign-in page'),
  SHOPWIRE_OIDC_EMAIL_DOMAINS: z
    .string()
    .transform((text) => text.split(',').map((domain) => domain.trim().toLowerCase()))
    .refine(
      (domains) => domains.every((domain) => /^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(domain)),
      'must be domains such as "example.com,example.org"',
    )
    .optional()
    .describe('domains of the company: its issuer is trusted for addresses there, and for no others'),
}

export function dashboardProblems(given: Given): string[] {
  const problems = oidcProblems(given)
  const web = given.SHOPWIRE_WEB_FOLDER
  if (web !== undefined && !existsSync(join(web, 'index.html'))) {
    problems.push(
      `SHOPWIRE_WEB_FOLDER: no index.html in ${web}; build the application with npm run web:build`,
    )
  }
  const origin = given.SHOPWIRE_DASHBOARD_ORIGIN
  const isSafe = origin === undefined || /^https:|^http:\/\/([^/]+\.)?localhost(:|$)/.test(origin)
  if (!isSafe && !isDevelopment(given)) {
    problems.push('SHOPWIRE_DASHBOARD_ORIGIN: must begin with https://; sessions are not sent unencrypted')
  }
  return problems
}

/** All of them or none: a half-configured sign-in would be a button that fails. */
function oidcProblems(given: Given): string[] {
  const problems: string[] = []
  const names = ['ISSUER', 'CLIENT_ID', 'CLIENT_SECRET', 'NAME', 'EMAIL_DOMAINS'].map(
    (name) => `SHOPWIRE_OIDC_${name}`,
  )
  const missing = names.filter((name) => given[name] === undefined)
  if (missing.length > 0 && missing.length < names.length) {
    problems.push(`${missing.join(' and ')} must be set too, or none of SHOPWIRE_OIDC_*`)
  }
  const issuer = given.SHOPWIRE_OIDC_ISSUER
  if (issuer?.startsWith('http://') && !isDevelopment(given)) {
    problems.push('SHOPWIRE_OIDC_ISSUER: must be an https:// URL; http:// is for development')
  }
  return problems
}
