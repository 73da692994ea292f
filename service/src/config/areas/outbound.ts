import { isIPv6 } from 'node:net'
import { z } from 'zod'
import { objectionToNetwork } from '../../platform/outbound/outbound-networks.ts'
import { plaintextHosts } from '../transport.ts'
import { type Given, secret } from '../values.ts'

const networkList = z
  .string()
  .transform((text) => text.split(',').map((network) => network.trim()))
  .superRefine((networks, context) => {
    for (const network of networks) {
      const objection = objectionToNetwork(network)
      if (objection !== undefined) context.addIssue({ code: 'custom', message: objection })
    }
  })
  .optional()

export const outboundSettings = {
  SHOPWIRE_PLAINTEXT_HOSTS: z
    .string()
    .default('')
    .transform(plaintextHosts)
    .refine(
      (hosts) => hosts.every((host) => /^[a-z0-9_.-]+$/.test(host) || isIPv6(host)),
      'must be host names or addresses without scheme and port, separated by commas',
    )
    .describe(
      'other machines that production may connect to without TLS, separated by commas: those on a network that nobody else can eavesdrop on',
    ),
  SHOPWIRE_EGRESS_PROXY: secret(
    z
      .string()
      .regex(
        /^https?:\/\/[^/?#]+\/?$/,
        'must be http://host:port or https://host:port, with user:password@ if needed',
      )
      .optional()
      .describe(
        'HTTP proxy (CONNECT) for webhooks and suppliers, including those in your own network; without it connections are direct',
      ),
  ),
  SHOPWIRE_OUTBOUND_DENY: networkList.describe(
    'networks that no webhook, supplier, payment provider or sign-in issuer is called in, such as `203.0.113.0/24,2001:db8::/32`',
  ),
  SHOPWIRE_OUTBOUND_ALLOW: networkList.describe(
    'the only networks that webhooks, suppliers, payment provider and sign-in issuer are called in; opens no private one for webhooks',
  ),
  SHOPWIRE_SMTP_URL: secret(
    z
      .string()
      .regex(
        /^smtps?:\/\/[^/?#]+/,
        'must be smtp://host:port or smtps://host:port, with user:password@ if needed',
      )
      .optional()
      .describe('mail server, for the worker; without it mail waits in the database'),
  ),
  SHOPWIRE_MAIL_FROM: z
    .string()
    .regex(/^[^\r\n]*[^\s@<>]+@[^\s@<>]+>?$/, 'must be an address, such as Shopwire <store@example.com>')
    .optional()
    .describe('sender of all mail; required with SHOPWIRE_SMTP_URL'),
}

export function outboundProblems(given: Given): string[] {
  if (given.SHOPWIRE_SMTP_URL === undefined || given.SHOPWIRE_MAIL_FROM !== undefined) return []
  return ['SHOPWIRE_MAIL_FROM is required when SHOPWIRE_SMTP_URL is set']
}
