import { z } from 'zod'
import { secret } from '../values.ts'

export const operatorSettings = {
  SHOPWIRE_ACTOR: z
    .string()
    .optional()
    .describe(
      'name in the audit log for shopwire-admin when --actor is not given, where SHOPWIRE_OPERATOR_IDENTITY is machine; required as root or with a user id without a name',
    ),
  SHOPWIRE_OPERATOR_IDENTITY: z
    .enum(['required', 'platform', 'machine'])
    .optional()
    .describe(
      'who may make changes with shopwire-admin: people with an operator token (required), those and people named by SHOPWIRE_OPERATOR (platform), or any user of the machine (machine); required in production and machine in development by default',
    ),
  SHOPWIRE_OPERATOR_TOKEN: secret(
    z
      .string()
      .optional()
      .describe(
        "for shopwire-admin: the token of the person who acts; belongs in that person's environment, never into the settings of the store",
      ),
  ),
  SHOPWIRE_OPERATOR: z
    .string()
    .optional()
    .describe(
      'for shopwire-admin: the person who acts, set by the platform that signed them in; only counts where SHOPWIRE_OPERATOR_IDENTITY is platform',
    ),
  SHOPWIRE_ALERTMANAGER_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe('for shopwire-admin doctor: the Alertmanager that gets the alerts, to see whether it is ready'),
  SHOPWIRE_PATRONI_URL: z
    .url({ protocol: /^https?$/ })
    .optional()
    .describe(
      'for shopwire-admin doctor: the REST address of Patroni on any node, to see whether a failover is safe',
    ),
}
