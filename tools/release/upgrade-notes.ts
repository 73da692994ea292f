/** A release that was made, and the version of its schema. packaging/releases.json lists them, the latest last. */
export interface Release {
  readonly version: string
  readonly schema: number
}

/** A file in .changeset: what changes, and what an operator has to know when upgrading. */
export interface Changeset {
  readonly name: string
  readonly text: string
  /** What follows "Upgrade:". */
  readonly upgrade: string | undefined
}

/** What the head of a migration says. */
export interface MigrationHead {
  readonly name: string
  readonly number: number
  readonly description: string
  readonly compatible_with: number
  readonly isNeeded: boolean
}

const UPGRADE = /(?:^|\n\n)Upgrade: ([\s\S]*?)(?=\n\n|$)/

export function readChangeset(name: string, content: string): Changeset {
  const body = content.replace(/^---\n[\s\S]*?\n---\n/, '').trim()
  return { name, text: body.replace(UPGRADE, '').trim(), upgrade: UPGRADE.exec(body)?.[1]?.trim() }
}

export function readHead(name: string, text: string): MigrationHead {
  const number = Number(name.slice(0, 4))
  const lines = text.split('\n').filter((line) => !/^-- (migrate|compatible-with|needed): /.test(line))
  const end = lines.findIndex((line) => !line.startsWith('--'))
  const comment = lines.slice(0, end).map((line) => line.replace(/^--\s?/, ''))
  return {
    name,
    number,
    description: comment.join(' ').split(/(?<=[.:])\s+(?=[A-Z])/)[0] ?? '',
    compatible_with: Number(/^-- compatible-with: (\d+)$/m.exec(text)?.[1] ?? number),
    isNeeded: !/^-- needed: no$/m.test(text),
  }
}

/** Why no release can be made of these, or undefined. */
export function missingUpgrade(
  changesets: readonly Changeset[],
  added: readonly MigrationHead[],
): string | undefined {
  if (added.length === 0 || changesets.some(({ upgrade }) => upgrade !== undefined)) return undefined
  return (
    `${added.length} migrations were added since the last release (${added[0]?.name} and later), and no file in .changeset says what an operator has to know. ` +
    'Add a paragraph that begins with "Upgrade:" to one of them; "Upgrade: nothing to do." is one too.'
  )
}

/** The section of one version in CHANGELOG.md: what was written by hand, and what the migrations say themselves. */
export function describeRelease(
  version: string,
  former: Release | undefined,
  changesets: readonly Changeset[],
  added: readonly MigrationHead[],
): string {
  const notNeeded = added.filter(({ isNeeded }) => !isNeeded).length
  return [
    ...changesets.map(({ text }) => text),
    `### Upgrade to ${version}`,
    ...changesets.flatMap(({ upgrade }) => upgrade ?? []),
    describeWayBack(former, added),
    ...(former && added.length > 0
      ? [
          `The schema goes from version ${former.schema} to ${former.schema + added.length}; programs start without ${notNeeded} of the files.`,
          added.map(({ name, description }) => `- \`${name}\`: ${description}`).join('\n'),
        ]
      : []),
  ].join('\n\n')
}

function describeWayBack(former: Release | undefined, added: readonly MigrationHead[]): string {
  if (!former) return 'This is the first release: there is none to upgrade from or to go back to.'
  const closing = added.find(({ compatible_with }) => compatible_with > former.schema)
  if (!closing) return `Rolling back to ${former.version} is open: its programs work on this schema.`
  return (
    `**Rolling back to ${former.version} is not possible** once ${closing.name} is applied, and its processes have to be stopped before: ` +
    `only programs that know version ${closing.compatible_with} of the schema work then.`
  )
}
