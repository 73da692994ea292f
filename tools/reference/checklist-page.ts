import { wrapped } from './markdown.ts'

export interface ChecklistItem {
  readonly id: string
  readonly group: string
  readonly title: string
  readonly fix: string
}

/** docs/self-hosting/checklist.md, from the checks themselves. */
export function checklistPage(items: readonly ChecklistItem[]): string {
  const groups = [...new Set(items.map(({ group }) => group))].flatMap((group) => [
    `## ${group}`,
    '',
    ...items
      .filter((item) => item.group === group)
      .map(({ id, title, fix }) => wrapped(`- <a id="${id}"></a>**${title}** (\`${id}\`): ${fix}`, '  ')),
    '',
  ])
  return [
    '<!-- Made by "npm run generate" from service/src/operations/doctor; do not edit. -->',
    '# Production checklist',
    '',
    `\`shopwire-admin doctor\` looks at these ${items.length} items and changes nothing. Run it before the first real order, after`,
    'every change of the installation, and every night beside `shopwire-admin verify`.',
    '',
    '```sh',
    'shopwire-admin doctor              # all items',
    'shopwire-admin doctor --problems   # only what is not in order, with the reason and the repair',
    'shopwire-admin doctor --json       # for scripts and monitoring',
    '```',
    '',
    'It exits with 0 when nothing failed, and with 1 otherwise; a warning does not change the exit code. An item that cannot',
    'be looked at, because the database does not answer or the settings have mistakes, is "not applicable"; an item of its',
    'own has the cause.',
    '',
    'Run it with the settings, the user and the network of the programs: in their container (`./shopwire admin doctor`), or',
    'as their user. It looks at one machine. It cannot see the disk of PostgreSQL, whether a backup can be restored, and',
    'whether an alert wakes somebody up.',
    '',
    ...groups,
  ].join('\n')
}
