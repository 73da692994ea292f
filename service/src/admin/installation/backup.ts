import type { Command } from 'commander'
import { describeBackups, problemsOf, readBackupStatus } from '../../operations/backup-status.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { print } from '../terminal/print.ts'

/** A restore would fail, or its result is unknown. Thrown after the status was printed, for the exit code. */
class BackupsAtRiskError extends Error {
  override readonly name = 'BackupsAtRiskError'
}

export function backupCommands(program: Command, context: CommandContext): void {
  const backup = program
    .command('backup')
    .description('what "shopwire backup" recorded; that command takes backups and restores them')

  backup
    .command('status')
    .description(
      'the last backups, which seconds can be restored, the last good restore test; exits with 1 when something is wrong',
    )
    .action(async (_options, command: Command) => {
      const folder = context.backupState()
      const status = await readBackupStatus(folder)
      if (status === undefined)
        throw new BackupsAtRiskError(
          `There is no record of a backup in ${folder}. Set them up as "Backups" in the documentation says; if they run on another machine, ` +
            'mount its folder here and set SHOPWIRE_BACKUP_STATE.',
        )
      // Backups matter most when the database is gone: then they are shown without comparing the server.
      const present = await context
        .reads()
        .systemIdentifier()
        .catch(() => undefined)
      const problems = problemsOf(status, context.nowMs(), present)
      print(command, context, { ok: problems.length === 0, problems, ...status }, () =>
        describeBackups(status, 'as of the last check'),
      )
      if (problems.length > 0) throw new BackupsAtRiskError(problems.join('\n'))
    })
}
