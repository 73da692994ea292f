import { isAbsolute } from 'node:path'
import { z } from 'zod'
import { folder } from '../values.ts'

export const backupSettings = {
  SHOPWIRE_BACKUP_CONFIG: folder
    .default('/etc/shopwire/backup')
    .describe("for shopwire backup: folder of pgbackrest.conf and of the repository's passphrase"),
  SHOPWIRE_BACKUP_STATE: folder
    .default('/var/lib/shopwire-backup')
    .describe(
      'for shopwire backup and shopwire-admin backup status: folder in which the results are recorded',
    ),
  SHOPWIRE_BACKUP_SCRATCH: folder
    .optional()
    .describe('for shopwire backup: folder with room for a test restore; that of the results by default'),
  SHOPWIRE_BACKUP_METRICS: z
    .string()
    .refine((path) => isAbsolute(path) && path.endsWith('.prom'), 'must be the absolute path of a .prom file')
    .optional()
    .describe(
      'for shopwire backup: file that the textfile collector of node_exporter reads, such as /var/lib/prometheus/node-exporter/shopwire_backup.prom',
    ),
}
