import type { Command } from 'commander'
import type { Digest } from '../../operations/seals/hashes.ts'
import { publishedLine } from '../../operations/seals/published.ts'
import { refuse } from '../../platform/trouble.ts'
import type { CommandContext } from '../terminal/command-context.ts'
import { parseLimit } from '../terminal/parse.ts'
import { print, table } from '../terminal/print.ts'
import { progressOf } from '../terminal/progress.ts'

const SHOWN = 7

export function sealCommands(program: Command, context: CommandContext): void {
  const seal = program
    .command('seal')
    .description('hashes over transfers and audit rows, by which "verify" finds what was changed afterwards')

  seal
    .command('show')
    .option('--limit <n>', 'how many digests', parseLimit, SHOWN)
    .description('the latest digests, one a day, and when everything was last sealed')
    .action(async ({ limit }: { limit: number }, command: Command) => {
      const shown = await context.reads().showSeals(limit)
      print(command, context, shown, () =>
        [
          table(
            ['DIGEST', 'DAY', 'SEGMENTS', 'HASH'],
            shown.digests.map(({ no, day, first_segment, last_segment, hash }) => [
              String(no),
              day,
              String(last_segment - first_segment + 1),
              hash,
            ]),
            'There is no digest yet. A worker makes the first one within minutes of its start.',
          ),
          `Last sealed ${shown.sealed_at.toISOString()}; ${shown.waiting} audit rows wait to be sealed.`,
        ].join('\n'),
      )
    })

  seal
    .command('publish')
    .option('--day <yyyy-mm-dd>', 'the digest of this day; the latest by default')
    .description(
      'print one digest as a line, to be stored where nobody with access to the database can change it',
    )
    .action(async ({ day }: { day?: string }, command: Command) => {
      const { digests } = await context.reads().showSeals(day === undefined ? 1 : undefined)
      const digest = day === undefined ? digests.at(-1) : digests.find((one) => one.day === day)
      if (!digest)
        throw refuse(
          'not_found',
          day === undefined
            ? 'There is no digest yet. A worker makes the first one within minutes of its start.'
            : `There is no digest of ${day}. "seal show" lists those there are.`,
        )
      print(command, context, toPublish(digest), () => publishedLine(digest))
    })

  seal
    .command('export')
    .requiredOption('--file <path>', 'a new file')
    .description(
      'write everything that was sealed to a file that "verify --export" checks without a database',
    )
    .action(async ({ file }: { file: string }, command: Command) => {
      const progress = progressOf(command, context, 'segments written')
      const written = await context
        .longRunningReads()
        .exportSealed(file, (done, total) => progress.at(done, total))
        .finally(() => progress.end())
      print(
        command,
        context,
        { file, ...written },
        () => `${file}: ${written.segments} segments, ${written.lines} lines.`,
      )
    })
}

const toPublish = ({ no, day, hash }: Digest) => ({ no, day, hash })
