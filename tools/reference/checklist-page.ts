export interface ChecklistItem {
  readonly group: string
  readonly title: string
}

/** docs/self-hosting/checklist.md, from the checks themselves. */
export function checklistPage(items: readonly ChecklistItem[]): string {
  const groups = [...new Set(items.map(({ group }) => group))].flatMap((group) => [
    `## ${group}`,
    '',
    ...items.filter((item) => item.group === group).map(({ title }) => `- ${title}`),
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
    'shopwire-admin doctor --problems   # only what is not in order, with the reason and the repair',
    'shopwire-admin doctor --list --json # all items, each with its reason and its repair',
    '```',
    '',
    'It exits with 1 when an item failed; a warning does not change the exit code. An item that cannot be looked at is "not',
    'applicable"; an item of its own has the cause. Run it with the settings, the user and the network of the programs: in',
    'their container (`./shopwire admin doctor`), or as their user. It looks at one machine. It cannot see the disk of',
    'PostgreSQL, and whether an alert wakes somebody up.',
    '',
    ...groups,
  ].join('\n')
}
